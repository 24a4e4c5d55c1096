import { declare } from '../libc.ts';

const setMask = declare('int pthread_sigmask(int how, const void *set, _Out_ void *old)');
const SIG_BLOCK = 0;
const SIG_SETMASK = 2;
/** Of glibc's sigset_t. */
const SET_BYTES = 128;
const ALL = Buffer.alloc(SET_BYTES, 0xff);

/**
 * Does something synchronous without signals on this thread: they come right after it, or to another thread meanwhile.
 * For libraries that take an interrupted call for a failed one.
 */
export function withoutSignals<T>(act: () => T): T {
  const before = Buffer.alloc(SET_BYTES);
  setMask('all signals', SIG_BLOCK, ALL, before);
  try {
    return act();
  } finally {
    setMask('signals as before', SIG_SETMASK, before, null);
  }
}

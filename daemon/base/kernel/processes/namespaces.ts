import { closeSync, constants, openSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';
import { declare } from '../libc.ts';

/**
 * Network namespaces. A namespace is entered by the calling thread only, so these functions are synchronous
 * and belong on the main thread: between leaving the host's namespace and being back not one other line of
 * the daemon runs.
 */
const nativeUnshare = declare('int unshare(int flags)');
const nativeSetns = declare('int setns(int fd, int type)');
const nativeMount = declare(
  'int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)',
);
const nativeUnmount = declare('int umount2(const char *target, int flags)');

const CLONE_NEWNET = 0x40000000;
const MS_BIND = 4096;
const MNT_DETACH = 2;

/** `/proc/self` is the process; the namespace in question is the thread's. */
const OWN_NAMESPACE = '/proc/thread-self/ns/net';

/**
 * Runs `work` in a new network namespace and comes back. `work` must be synchronous. When it cannot come back the
 * process ends at once: a daemon in a container's namespace would do damage with every further line.
 */
export function inNewNetworkNamespace<T>(work: () => T): T {
  return away(() => nativeUnshare('network namespace', CLONE_NEWNET), work);
}

/** As `inNewNetworkNamespace`, in an existing one: `file` is where it is pinned. About 10 microseconds. */
export function inNetworkNamespace<T>(file: string, work: () => T): T {
  const enter = (): void => {
    const target = openSync(file, constants.O_RDONLY);
    try {
      nativeSetns(file, target, CLONE_NEWNET);
    } finally {
      closeSync(target);
    }
  };
  return away(enter, work);
}

function away<T>(leave: () => void, work: () => T): T {
  const home = openSync(OWN_NAMESPACE, constants.O_RDONLY);
  try {
    leave();
    try {
      return work();
    } finally {
      comeBack(home);
    }
  } finally {
    closeSync(home);
  }
}

function comeBack(home: number): void {
  try {
    nativeSetns("the host's network namespace", home, CLONE_NEWNET);
  } catch (error) {
    process.stderr.write(`fatal: cannot return to the host's network namespace: ${String(error)}\n`);
    process.abort();
  }
}

/** Keeps the calling thread's network namespace alive at `file`, which must exist. */
export function pinNetworkNamespace(file: string): void {
  nativeMount(file, OWN_NAMESPACE, file, null, MS_BIND, null);
}

/**
 * Undoes `pinNetworkNamespace`; processes that still use the namespace keep it. A file where nothing is mounted is no
 * error.
 */
export function unpinNetworkNamespace(file: string): void {
  try {
    nativeUnmount(file, file, MNT_DETACH);
  } catch (error) {
    // EINVAL: not a mount point; ENOENT: no such file. Both mean there is nothing to undo.
    if (errnoOf(error) !== 'EINVAL' && errnoOf(error) !== 'ENOENT') {
      throw error;
    }
  }
}

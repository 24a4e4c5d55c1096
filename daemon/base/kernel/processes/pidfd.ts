import { closeSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';
import { declareSyscall, SYS } from '../libc.ts';
import { isAlive } from './process.ts';
import type { ProcessIdentity } from './process.ts';

const pidfdOpen = declareSyscall('pidfd_open', SYS.pidfd_open, 'int pid, unsigned int flags');
const pidfdSendSignal = declareSyscall(
  'pidfd_send_signal',
  SYS.pidfd_send_signal,
  'int pidfd, int signal, void *info, unsigned int flags',
);

/** A descriptor of a process, close-on-exec. Throws KernelError ESRCH when there is none; the caller closes it. */
export function openPidfd(pid: number): number {
  // pidfd_open sets close-on-exec by itself.
  return pidfdOpen(`process ${pid}`, pid, 0);
}

/**
 * Sends a signal to exactly this process; false when it has ended. The descriptor pins the process before its start
 * time is compared, so a process that took over the number meanwhile is never hit.
 */
export function sendSignal(target: ProcessIdentity, signal: number): boolean {
  const object = `process ${target.pid}`;
  let pidfd: number;
  try {
    pidfd = openPidfd(target.pid);
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') {
      return false;
    }
    throw error;
  }
  try {
    if (!isAlive(target)) {
      return false;
    }
    pidfdSendSignal(object, pidfd, signal, null, 0);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') {
      return false;
    }
    throw error;
  } finally {
    closeSync(pidfd);
  }
}

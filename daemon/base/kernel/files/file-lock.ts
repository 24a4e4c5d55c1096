import { errnoOf } from '../../errors.ts';
import { declare } from '../libc.ts';

const flock = declare('int flock(int fd, int operation)');

const LOCK_EX = 2;
const LOCK_NB = 4;

/**
 * Locks an open file for this process alone (flock(2)); false when another one has it. The lock goes with the last
 * descriptor, so also when the process is killed.
 */
export function tryLock(fd: number, object: string): boolean {
  try {
    flock(object, fd, LOCK_EX | LOCK_NB);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EAGAIN' || errnoOf(error) === 'EWOULDBLOCK') {
      return false;
    }
    throw error;
  }
}

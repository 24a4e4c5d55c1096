import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { declare } from '../libc.ts';
import type { ProcessIdentity } from '../processes/process.ts';

const prlimit = declare('int prlimit(int pid, int resource, const void *next, void *last)');

const RLIMIT_FSIZE = 1;
const UNLIMITED = 0xffff_ffff_ffff_ffffn;

/**
 * Bounds the files that a process writes (RLIMIT_FSIZE, setrlimit(2)): what does not fit is refused with EFBIG, by the
 * kernel, also while no daemon runs. null = no bound. False, and nothing is changed, when the process would be killed
 * by it (SIGXFSZ). Throws KernelError ESRCH when there is no such process.
 */
export function limitFileSize({ pid }: ProcessIdentity, bytes: number | null): boolean {
  if (!ignoresFileSizeSignal(pid)) {
    return false;
  }
  const limit = Buffer.alloc(16);
  // The hard limit stays: another daemon may allow more.
  limit.writeBigUInt64LE(bytes === null ? UNLIMITED : BigInt(bytes), 0);
  limit.writeBigUInt64LE(UNLIMITED, 8);
  prlimit(`process ${pid}`, pid, RLIMIT_FSIZE, limit, null);
  return true;
}

function ignoresFileSizeSignal(pid: number): boolean {
  const [, ignored = '0'] = /^SigIgn:\t(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return ((BigInt(`0x${ignored}`) >> BigInt(constants.signals.SIGXFSZ - 1)) & 1n) === 1n;
}

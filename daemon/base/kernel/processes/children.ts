import { closeSync } from 'node:fs';
import { errnoOf } from '../../errors.ts';
import { ChildClaims } from './child-claims.ts';
import { declare } from '../libc.ts';
import { openPidfd } from './pidfd.ts';
import type { Poller } from '../sockets/poller.ts';

/**
 * Children of this process that Node.js does not know: those of `spawnSession`, and adopted orphans.
 *
 * A process whose parent has ended goes to the nearest subreaper above it (prctl(2), PR_SET_CHILD_SUBREAPER). So the
 * daemon learns how a process ended that `runc exec --detach` has started, without a monitor of its own. Other orphans
 * (monitors, which fork once, and their children when they are killed) are reaped by a slow sweep.
 */
const prctl = declare(
  'int prctl(int option, unsigned long one, unsigned long two, unsigned long three, unsigned long four)',
);
const waitpid = declare('int waitpid(int pid, void *status, int options)');
const waitid = declare('int waitid(int kind, int id, void *info, int options)');

const PR_SET_CHILD_SUBREAPER = 36;
const P_ALL = 0;
const WNOHANG = 1;
const WEXITED = 4;
const WNOWAIT = 0x0100_0000;
/** siginfo_t: si_pid comes after three numbers and, on 64-bit machines, a gap. */
const SIGINFO_BYTES = 128;
const SI_PID_OFFSET = 16;
const SWEEP_MS = 1000;
/** Turns of the event loop that one sweep takes; an orphan needs two at most. */
const SWEEP_MAX = 512;

const claims = new ChildClaims();

/** Keeps the sweep from the children that are about to come, until they are waited for. */
export function expectChildren(): Disposable {
  return claims.expect();
}

/** Keeps the sweep from one child. */
export function claimChild(pid: number): Disposable {
  return claims.claim(pid);
}

/** Takes the exit of a child; undefined while it lives. 0-255, or 128 + n when ended by signal n. */
export function reap(pid: number): number | undefined {
  const status = Buffer.alloc(4);
  if (waitpid(`pid ${pid}`, pid, status, WNOHANG) !== pid) {
    return undefined;
  }
  const word = status.readInt32LE(0);
  const signal = word & 0x7f;
  return signal === 0 ? (word >> 8) & 0xff : 128 + signal;
}

/** Resolves with the exit code of a child, as `reap`. Throws KernelError ECHILD, or ESRCH, when it is not ours. */
export async function endOf(pid: number, poller: Poller): Promise<number> {
  using _claimed = claimChild(pid);
  const pidfd = openPidfd(pid);
  try {
    for (;;) {
      const exitCode = reap(pid);
      if (exitCode !== undefined) {
        return exitCode;
      }
      await readable(pidfd, poller);
    }
  } finally {
    closeSync(pidfd);
  }
}

/** A pidfd is readable once its process has ended. */
function readable(pidfd: number, poller: Poller): Promise<void> {
  return new Promise((resolve) => {
    const watch = poller.watch(pidfd, () => {
      watch[Symbol.dispose]();
      resolve();
    });
    watch.arm({ read: true, write: false });
  });
}

/** From now on orphans below this process come to it, and those that are not waited for are reaped. */
export function adoptOrphans(): Disposable {
  prctl('subreaper', PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const timer = setInterval(() => sweep(SWEEP_MAX, 0), SWEEP_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/**
 * One turn of the event loop for each child that has ended. Node.js hears of its own children when the loop looks for
 * signals: what is still there a turn later (`seen`) has no waiter. Without that turn a loop that was busy for longer
 * than a sweep takes to come would lose the end of a child for ever.
 */
function sweep(turnsLeft: number, seen: number): void {
  const pid = claims.isExpecting() || turnsLeft === 0 ? 0 : firstEnded();
  // One that is claimed will be gone at the next sweep.
  if (pid === 0 || claims.has(pid)) {
    return;
  }
  if (pid === seen) {
    reapOrphan(pid);
  }
  setImmediate(() => sweep(turnsLeft - 1, pid)).unref();
}

function reapOrphan(pid: number): void {
  try {
    reap(pid);
  } catch (error) {
    // Its exit was taken in between by what started it: glibc does so when a program cannot be executed.
    if (errnoOf(error) !== 'ECHILD') {
      throw error;
    }
  }
}

/** A child that has ended, left as it is; 0 when there is none. */
function firstEnded(): number {
  const info = Buffer.alloc(SIGINFO_BYTES);
  try {
    waitid('children', P_ALL, 0, info, WEXITED | WNOHANG | WNOWAIT);
  } catch (error) {
    if (errnoOf(error) === 'ECHILD') {
      return 0;
    }
    throw error;
  }
  return info.readInt32LE(SI_PID_OFFSET);
}

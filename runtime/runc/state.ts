import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as yieldToLoop, setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, ifThere, internal } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { isAlive } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import { limits } from '../../daemon/base/limits.ts';

/** Turns of the event loop before waiting in milliseconds: an init that is ready answers within the first few. */
const EAGER_TURNS = 20;

/**
 * True while the container's init waits for its permission to run: it keeps the FIFO open until just before it executes
 * the command. runc itself tells "created" by the FIFO's name alone, which a daemon that died after letting init go has
 * left; then it is removed here.
 */
export function isWaiting(state: string, init: ProcessIdentity): boolean {
  const fifo = statSync(startFifo(state), { throwIfNoEntry: false });
  if (fifo === undefined) {
    return false;
  }
  if (hasOpen(init.pid, fifo)) {
    return true;
  }
  rmSync(startFifo(state), { force: true });
  return false;
}

/** False also for a process that has ended. */
function hasOpen(pid: number, file: Stats): boolean {
  const folder = `/proc/${pid}/fd`;
  const descriptors = ifThere(() => readdirSync(folder), ['ENOENT', 'ESRCH']) ?? [];
  return descriptors.some((fd) => {
    const open = statSync(`${folder}/${fd}`, { throwIfNoEntry: false });
    return open?.ino === file.ino && open.dev === file.dev;
  });
}

/**
 * True for a container whose init has ended and never executed the command. An init that was let go writes one byte
 * into the FIFO first, which fails when the daemon that had it open is killed between the two: init then ends with 1.
 * The kernel notes the time of a write at the FIFO's inode, where `releaseInit` has put the epoch.
 */
export function hasNeverRun(state: string, init: ProcessIdentity): boolean {
  return statSync(startFifo(state), { throwIfNoEntry: false })?.mtimeMs === 0 && !isAlive(init);
}

/** What is known of the command that init is to execute. */
export interface CommandTraits {
  /** It is the little init of `HostConfig.Init`, which passes signals on once it has blocked them. */
  passesSignalsOn?: boolean;
}

/**
 * Gives a created init the permission to run, as `runc start` does but without spawning it: init blocks in opening
 * the FIFO for writing until it is opened for reading, writes one byte and executes the command. Resolves when the
 * command itself runs: a signal then meets it and not init. False when the FIFO is not where runc 1.x keeps it. Throws
 * EngineError internal when init is gone or too slow.
 */
export async function releaseInit(
  state: string,
  init: ProcessIdentity | undefined,
  command: CommandTraits = {},
): Promise<boolean> {
  const runcs = factOf(init, 'cmdline');
  let fifo: number;
  try {
    // Before init is let go: `hasNeverRun`.
    utimesSync(startFifo(state), 0, 0);
    fifo = openSync(startFifo(state), constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return false;
    }
    throw error;
  }
  try {
    const deadline = performance.now() + limits.beginTimeoutMs;
    for (let turn = 0; ; turn += 1) {
      // Asked before the read: an init that writes, runs and ends in between has left its byte.
      const gone = init !== undefined && !isAlive(init);
      if (hasByte(fifo)) {
        break;
      }
      if (gone || performance.now() > deadline) {
        throw internal(`start container: its init ${gone ? 'has ended' : 'does not respond'}`, {
          details: { exitCode: 128 },
        });
      }
      await (turn < EAGER_TURNS ? yieldToLoop() : sleep(1));
    }
  } finally {
    closeSync(fifo);
  }
  failpoint('runtime.begin.letgo');
  rmSync(startFifo(state), { force: true });
  await commandRuns(init, runcs, command);
  return true;
}

/**
 * The kernel gives a process its new arguments as the last step of execve(2), long after runc has closed what it had
 * open. A command that is slow to come, from a cold disk, is not waited for longer than a second.
 */
async function commandRuns(
  init: ProcessIdentity | undefined,
  runcs: string,
  { passesSignalsOn }: CommandTraits,
): Promise<void> {
  const deadline = performance.now() + limits.commandWaitMs;
  const isComing = (): boolean => {
    const now = factOf(init, 'cmdline');
    const isThere = now !== runcs && now !== '' && (passesSignalsOn !== true || blocksSignals(init));
    return !isThere && init !== undefined && isAlive(init);
  };
  for (let turn = 0; isComing() && performance.now() < deadline; turn += 1) {
    await (turn < EAGER_TURNS ? yieldToLoop() : sleep(1));
  }
}

/** It takes them one by one from then on. Before, the kernel drops those that the first process has no handler for. */
function blocksSignals(init: ProcessIdentity | undefined): boolean {
  return /^SigBlk:\s+0*[1-9a-f]/m.test(factOf(init, 'status'));
}

/** A file of /proc/<pid>; empty for a process that is gone. So are the arguments amid an execve(2). */
function factOf(init: ProcessIdentity | undefined, file: 'cmdline' | 'status'): string {
  return (
    ifThere(
      () => (init === undefined ? '' : readFileSync(`/proc/${init.pid}/${file}`, 'latin1')),
      ['ENOENT', 'ESRCH'],
    ) ?? ''
  );
}

/** The init process of a container by runc's own record; undefined when there is no record (any more). */
export function recordedInit(state: string): ProcessIdentity | undefined {
  const text = ifThere(() => readFileSync(join(state, 'state.json'), 'utf8'));
  if (text === undefined) {
    return undefined;
  }
  const pid = /"init_process_pid":(\d+)/.exec(text)?.[1];
  const startTime = /"init_process_start":(\d+)/.exec(text)?.[1];
  return pid === undefined || startTime === undefined ? undefined : { pid: Number(pid), startTime };
}

function startFifo(state: string): string {
  return join(state, 'exec.fifo');
}

function hasByte(fifo: number): boolean {
  try {
    // 0 = no writer yet.
    return readSync(fifo, Buffer.alloc(1)) === 1;
  } catch (error) {
    if (errnoOf(error) === 'EAGAIN') {
      return false;
    }
    throw error;
  }
}

import { closeSync, constants, existsSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as yieldToLoop, setTimeout as sleep } from 'node:timers/promises';
import { errnoOf, internal } from '../../daemon/base/errors.ts';
import { isAlive } from '../../daemon/base/kernel/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/process.ts';
import { limits } from '../../daemon/base/limits.ts';

/** Turns of the event loop before waiting in milliseconds: an init that is ready answers within the first few. */
const EAGER_TURNS = 20;

/** True while the container's init waits for its permission to run. runc itself tells "created" by this FIFO. */
export function isWaiting(state: string): boolean {
  return existsSync(startFifo(state));
}

/**
 * Gives a created init the permission to run, as `runc start` does but without spawning it: init blocks in opening
 * the FIFO for writing until somebody opens it for reading, writes one byte and executes the command.
 * False when the FIFO is not where runc 1.x keeps it. Throws EngineError internal when init is gone or too slow.
 */
export async function letGo(state: string, init: ProcessIdentity | undefined): Promise<boolean> {
  let fifo: number;
  try {
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
  rmSync(startFifo(state), { force: true });
  return true;
}

/** The init process of a container by runc's own record; undefined when there is no record (any more). */
export function recordedInit(state: string): ProcessIdentity | undefined {
  let text: string;
  try {
    text = readFileSync(join(state, 'state.json'), 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
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

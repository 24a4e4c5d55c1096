import { closeSync, constants, openSync, readFileSync, write } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Logger } from '../../daemon/base/logger.ts';
import type { CgroupLayout } from './detect.ts';

export interface QuickMovesDeps {
  layout: CgroupLayout;
  log: Logger;
}

/** The kernel goes back to slow moves one grace period after the last one: 9 ms and more. */
const INTERVAL_MS = 5;
/** Clients start a session as soon as they have made it. */
const EXPECTED_MS = 25;
/** runc has made its moves long before, or hangs for another reason. */
const HOLD_MS_MAX = 300;

const writeAsync = promisify(write);

/**
 * Keeps moves of processes into cgroups quick while runc is about to make one.
 *
 * The kernel guards them with a lock that costs forks nothing and the first move after a while an RCU grace period:
 * 9 to 16 ms, half of an exec, in which runc just waits (cgroup_threadgroup_rwsem, a percpu_rw_semaphore; rcu_sync).
 * Moves that follow soon take 0.1 ms. So this process moves itself to the cgroup it is in, which changes nothing, on a
 * pool thread while conmon and runc are still starting: the wait happens beside them.
 */
export class QuickMoves {
  readonly #deps: QuickMovesDeps;
  #holders = 0;
  #holdUntil = 0;
  #keeping = false;
  #works = true;

  constructor(deps: QuickMovesDeps) {
    this.#deps = deps;
  }

  /** Moves are quick from some milliseconds later on, until this and every other hold is over. */
  hold(): Disposable {
    this.#holders += 1;
    this.#holdUntil = performance.now() + HOLD_MS_MAX;
    if (!this.#keeping && this.#works) {
      this.#keeping = true;
      void this.#keep().catch((error: unknown) => {
        // Not allowed here (a cgroup namespace, a file system of its own): it was only ever a matter of speed.
        this.#works = false;
        this.#deps.log.debug({ err: error }, 'cannot keep cgroup moves quick');
      });
    }
    let held = true;
    return {
      [Symbol.dispose]: () => {
        this.#holders -= held ? 1 : 0;
        held = false;
      },
    };
  }

  /** Holds for a moment: a start or an exec is about to come. */
  expect(): void {
    const held = this.hold();
    setTimeout(() => held[Symbol.dispose](), EXPECTED_MS).unref();
  }

  async #keep(): Promise<void> {
    try {
      while (this.#holders > 0 && performance.now() < this.#holdUntil) {
        await moveToOwnCgroup(this.#deps.layout);
        await sleep(INTERVAL_MS);
      }
    } finally {
      this.#keeping = false;
    }
  }
}

async function moveToOwnCgroup(layout: CgroupLayout): Promise<void> {
  // Looked up each time: an administrator may have moved us, and we must not move back.
  const directory = ownCgroup(layout, readFileSync('/proc/self/cgroup', 'utf8'));
  if (directory === undefined) {
    throw new Error('no cgroup of this process found');
  }
  const file = openSync(join(directory, 'cgroup.procs'), constants.O_WRONLY);
  try {
    // 0 = the writer.
    await writeAsync(file, Buffer.from('0'));
  } finally {
    closeSync(file);
  }
}

/** Directory of this process's cgroup in any hierarchy: the lock is one for all. `text` as in cgroups(7). */
export function ownCgroup(layout: CgroupLayout, text: string): string | undefined {
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) {
      continue;
    }
    const [first = ''] = controllers.split(',');
    const mountPoint = first === '' ? layout.unified : layout.controllers.get(first);
    if (mountPoint !== undefined && mountPoint !== null) {
      return join(mountPoint, path);
    }
  }
  return undefined;
}

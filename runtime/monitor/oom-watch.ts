import { unlinkSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errnoOf } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';

export interface OomWatchDeps {
  /** What changes when a container lacks memory. */
  sign(id: string): OomSign;
  /** Processes that the kernel has killed for it so far. */
  kills(id: string): number;
  /** Whether processes wait for memory because the killer is switched off (`OomKillDisable`, version 1 only). */
  isStarving(id: string): boolean;
  log: Logger;
}

/** `hasKilled`: processes are gone; else they wait until memory is freed. */
export type OomListener = (id: string, what: { hasKilled: boolean }) => void;

/**
 * `marker`: a file that the monitor makes when the kernel tells it (an eventfd of version 1), before any process is
 * killed.
 * `counts`: the kernel's own file (memory.events of version 2), which changes with each kill, and often without one.
 * conmon watches that file too, but stops at the first change in which no process was killed (2.1.6,
 * check_cgroup2_oom).
 */
export interface OomSign {
  kind: 'marker' | 'counts';
  file: string;
}

/**
 * The monitor is told once, when memory runs out: a moment before a process is killed for it, on a machine that is
 * short of memory itself a long moment.
 */
const KILL_DELAYS_MS = [0, 5, 20, 100, 400, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000];

/** Tells when the kernel has killed processes of a container for want of memory, also when it goes on without them. */
export class OomWatch implements Disposable {
  readonly #deps: OomWatchDeps;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #told = new Map<string, number>();
  readonly #looks = new Map<string, symbol>();
  readonly #listeners = new Set<OomListener>();

  constructor(deps: OomWatchDeps) {
    this.#deps = deps;
  }

  /** From now on; what `sign` names must be there. Never throws: it would only be a matter of events. */
  expect(id: string): void {
    this.forget(id);
    const { kind, file } = this.#deps.sign(id);
    try {
      const watcher =
        kind === 'marker'
          ? watch(dirname(file), { persistent: false }, (_event, name) => {
              if (name === basename(file) && isTaken(file)) {
                this.#lookSoon(id, KILL_DELAYS_MS);
              }
            })
          : watch(file, { persistent: false }, () => {
              if (!this.#looks.has(id)) {
                // A container at its limit changes it a hundred times a second.
                this.#lookSoon(id, [limits.oomCountPauseMs]);
              }
            });
      watcher.on('error', () => this.forget(id));
      this.#watchers.set(id, watcher);
    } catch (error) {
      this.#deps.log.warn({ container: id, err: error }, 'kills for want of memory will not be told');
    }
  }

  forget(id: string): void {
    this.#watchers.get(id)?.close();
    this.#watchers.delete(id);
    this.#told.delete(id);
    this.#looks.delete(id);
  }

  /** Calls back each time that more processes were killed, or that all wait since none may be killed. */
  onOom(listener: OomListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    [...this.#watchers.keys()].forEach((id) => this.forget(id));
    this.#listeners.clear();
  }

  /** Asks for the kills after each of these pauses, until there are more; a newer look takes the place of this one. */
  #lookSoon(id: string, delaysMs: readonly number[]): void {
    void this.#look(id, delaysMs).catch((error: unknown) => {
      this.#looks.delete(id);
      this.#deps.log.warn({ container: id, err: error }, 'kills for want of memory could not be counted');
    });
  }

  async #look(id: string, delaysMs: readonly number[]): Promise<void> {
    const look = Symbol(id);
    this.#looks.set(id, look);
    for (const delayMs of delaysMs) {
      await sleep(delayMs, undefined, { ref: false });
      if (this.#looks.get(id) !== look) {
        return;
      }
      const kills = this.#deps.kills(id);
      const hasKilled = kills > (this.#told.get(id) ?? 0);
      if (hasKilled || this.#deps.isStarving(id)) {
        this.#told.set(id, kills);
        this.#listeners.forEach((listener) => listener(id, { hasKilled }));
        break;
      }
    }
    if (this.#looks.get(id) === look) {
      this.#looks.delete(id);
    }
  }
}

/**
 * Removes the monitor's marker, which it makes anew at the next time. False where there is none: what was noticed is
 * the removal itself, and one lack of memory would be told twice.
 */
function isTaken(marker: string): boolean {
  try {
    unlinkSync(marker);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ENOENT';
  }
}

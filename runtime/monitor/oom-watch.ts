import { rmSync, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../daemon/base/log.ts';

export interface OomWatchDeps {
  /** File that a container's monitor makes when the kernel tells it of a lack of memory. */
  file(id: string): string;
  /** Processes that the kernel has killed for it so far. */
  kills(id: string): number;
  log: Logger;
}

/** The monitor is told when memory runs out, a moment before somebody is killed for it. */
const KILL_DELAYS_MS = [0, 5, 20, 100, 400];

/**
 * Tells when the kernel has killed processes of a container for want of memory, also when it goes on without them. The
 * monitors watch the kernel (an eventfd on version 1, memory.events on version 2); this watches their files.
 */
export class OomWatch implements Disposable {
  readonly #deps: OomWatchDeps;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #told = new Map<string, number>();
  readonly #listeners = new Set<(id: string) => void>();

  constructor(deps: OomWatchDeps) {
    this.#deps = deps;
  }

  /** From now on; a container's bundle must be there. Never throws: it would only be a matter of events. */
  expect(id: string): void {
    this.forget(id);
    const file = this.#deps.file(id);
    try {
      const watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
        if (name === basename(file)) {
          void this.#look(id);
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
  }

  /** Calls back once for each time that more have been killed. */
  onKill(listener: (id: string) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    [...this.#watchers.keys()].forEach((id) => this.forget(id));
    this.#listeners.clear();
  }

  async #look(id: string): Promise<void> {
    // Made anew at the next time, which is how that one is seen.
    rmSync(this.#deps.file(id), { force: true });
    for (const delayMs of KILL_DELAYS_MS) {
      await sleep(delayMs);
      if (!this.#watchers.has(id)) {
        return;
      }
      const kills = this.#deps.kills(id);
      if (kills > (this.#told.get(id) ?? 0)) {
        this.#told.set(id, kills);
        this.#listeners.forEach((listener) => listener(id));
        return;
      }
    }
  }
}

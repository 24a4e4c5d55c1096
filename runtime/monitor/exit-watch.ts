import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { isAlive } from '../../daemon/base/kernel/processes/process.ts';
import type { ProcessIdentity } from '../../daemon/base/kernel/processes/process.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { ExitRecords } from './exit-records.ts';

/** The true end of a container, as its monitor recorded it. */
export interface ContainerExit {
  id: string;
  /** 0-255; 128 + n when ended by signal n. */
  exitCode: number;
  finishedAtNano: bigint;
  oomKilled: boolean;
}

export interface ExitWatchDeps {
  records: ExitRecords;
  oomKilled(id: string): boolean;
  monitorAlive(id: string): boolean;
  /** Containers that were launched by an earlier daemon and whose exit was not told yet. */
  inherited(): Iterable<[id: string, init: ProcessIdentity]>;
  log: Logger;
}

/** Containers looked at in one turn of the event loop. */
const SWEEP_BATCH = 100;

/**
 * Tells of every exit exactly once: at once when conmon writes its record, at the start for those written while no
 * daemon ran, and by a slow sweep for what slips through: a dropped notification, or a container that ended after its
 * monitor was killed. For that one a record is made up first, so that it is told once even if we die right after.
 */
export class ExitWatch implements Disposable {
  readonly #deps: ExitWatchDeps;
  readonly #listeners = new Set<(exit: ContainerExit) => void>();
  readonly #told = new Set<string>();
  readonly #inits = new Map<string, ProcessIdentity>();
  #watching: Disposable | undefined;

  constructor(deps: ExitWatchDeps) {
    this.#deps = deps;
  }

  /** The exit of a container whose record exists. */
  exitOf(id: string): ContainerExit | undefined {
    const record = this.#deps.records.read(id);
    return record && { id, ...record, oomKilled: this.#deps.oomKilled(id) };
  }

  /** A container to be missed when it ends without a record. */
  expect(id: string, init: ProcessIdentity): void {
    this.#told.delete(id);
    this.#inits.set(id, init);
  }

  /** Its end, should it come without a record, is no news: it is being removed. */
  disregard(id: string): void {
    this.#inits.delete(id);
  }

  /** No longer: its exit is in the database, or it was removed. A later exit of the same id is told again. */
  forget(id: string): void {
    this.#inits.delete(id);
    this.#deps.records.forget(id);
    this.#told.delete(id);
  }

  /** Calls back for each exit, later also for those recorded before. Watching starts with the first listener. */
  onExit(listener: (exit: ContainerExit) => void): Disposable {
    this.#listeners.add(listener);
    this.#watching ??= this.#start();
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  [Symbol.dispose](): void {
    this.#watching?.[Symbol.dispose]();
    this.#watching = undefined;
    this.#listeners.clear();
  }

  #start(): Disposable {
    for (const [id, init] of this.#deps.inherited()) {
      if (!this.#inits.has(id)) {
        this.#inits.set(id, init);
      }
    }
    // Watched before listed: a record that appears in between is seen twice and told once.
    const watcher = this.#deps.records.watch((id) => this.#tell(id));
    let sweeping = false;
    const sweep = (): void => {
      if (sweeping) {
        return;
      }
      sweeping = true;
      this.#sweep()
        .catch((error: unknown) => this.#deps.log.error({ err: error }, 'sweep for exits failed'))
        .finally(() => {
          sweeping = false;
        });
    };
    const first = setImmediate(sweep);
    const timer = setInterval(sweep, limits.exitSweepMs).unref();
    return {
      [Symbol.dispose]: () => {
        watcher[Symbol.dispose]();
        clearImmediate(first);
        clearInterval(timer);
      },
    };
  }

  #tell(id: string): void {
    if (this.#told.has(id) || this.#listeners.size === 0) {
      return;
    }
    try {
      const exit = this.exitOf(id);
      if (exit === undefined) {
        return;
      }
      this.#told.add(id);
      this.#inits.delete(id);
      for (const listener of this.#listeners) {
        listener(exit);
      }
    } catch (error) {
      // The record stays until it is forgotten: the next start tells it again.
      this.#deps.log.error({ container: id, err: error }, 'telling an exit failed');
    }
  }

  async #sweep(): Promise<void> {
    for (const id of this.#deps.records.list()) {
      this.#tell(id);
    }
    let looked = 0;
    for (const [id, init] of this.#inits) {
      looked += 1;
      if (looked % SWEEP_BATCH === 0) {
        await yieldToLoop();
      }
      // A live monitor still has output to write; it will tell.
      if (isAlive(init) || this.#deps.monitorAlive(id)) {
        continue;
      }
      // Only now can no record come any more; and it may have been launched anew while we yielded.
      if (this.#inits.get(id) === init) {
        this.#deps.records.recordLost(id);
        this.#tell(id);
      }
    }
  }
}

import type { Clock } from '../../base/clock.ts';
import { isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { tooMany } from './problems.ts';
import type { EventStorage, StorageChange } from './storage/port.ts';

interface Waiting {
  change: StorageChange;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * Changes of events go to the storage many at a time: those that come within a few milliseconds, or while the storage
 * is busy, are one commit. Each is answered when it is durable.
 */
export class CommitQueue {
  readonly #storage: EventStorage;
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #underWay = 0;
  #timer: Disposable | undefined;
  #lastMs = -Infinity;

  constructor(storage: EventStorage, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** Throws conflict as the storage does; resource_exhausted when too many wait. */
  write(change: StorageChange): Promise<void> {
    if (this.#waiting.length >= limits.clusterEventWritesMax) {
      return Promise.reject(tooMany('too many changes of events wait for the disk: try again'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (
      this.#timer !== undefined ||
      this.#waiting.length === 0 ||
      this.#underWay >= this.#storage.commitsMax
    ) {
      return;
    }
    const restMs = this.#lastMs + limits.clusterCommitPaceMs - this.#clock.monotonicMs();
    if (restMs <= 0) {
      const immediate = setImmediate(() => this.#next());
      this.#timer = { [Symbol.dispose]: () => clearImmediate(immediate) };
    } else {
      this.#timer = this.#clock.setTimeout(() => this.#next(), Math.ceil(restMs));
    }
  }

  #next(): void {
    this.#timer = undefined;
    this.#lastMs = this.#clock.monotonicMs();
    const some = this.#waiting.splice(0, this.#storage.changesMax);
    this.#underWay += 1;
    void this.#make(some).catch((error: unknown) => some.forEach(({ reject }) => reject(error)));
    this.#schedule();
  }

  async #make(some: readonly Waiting[]): Promise<void> {
    try {
      await this.#commit(some);
    } finally {
      this.#underWay -= 1;
      this.#schedule();
    }
  }

  /** Never rejects. */
  async #commit(some: readonly Waiting[]): Promise<void> {
    try {
      await this.#storage.commit(some.map(({ change }) => change));
      some.forEach(({ resolve }) => resolve());
    } catch (error) {
      if (some.length > 1 && isEngineError(error, 'conflict')) {
        // One of them is to blame: each by itself.
        await Promise.all(some.map((one) => this.#commit([one])));
      } else {
        some.forEach(({ reject }) => reject(error));
      }
    }
  }
}

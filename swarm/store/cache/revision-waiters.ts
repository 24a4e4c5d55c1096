import type { Clock } from '../../../daemon/base/clock.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { StoreError } from '../errors.ts';

interface Waiter {
  revision: number;
  settle: (error?: StoreError) => void;
}

/** Those who wait until a revision is reached, each no longer than a call of the store may take. */
export class RevisionWaiters {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(revision: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        revision,
        settle: (error) => {
          timer[Symbol.dispose]();
          this.#waiters.delete(waiter);
          if (error === undefined) {
            resolve();
          } else {
            reject(error);
          }
        },
      };
      const timer = this.#clock.setTimeout(() => {
        waiter.settle(
          new StoreError('unavailable', `wait for revision ${revision}: this manager has not seen it yet`),
        );
      }, limits.swarmStoreCallMs);
      this.#waiters.add(waiter);
    });
  }

  reached(revision: number): void {
    for (const waiter of this.#waiters) {
      if (waiter.revision <= revision) {
        waiter.settle();
      }
    }
  }

  close(): void {
    for (const waiter of this.#waiters) {
      const { revision } = waiter;
      waiter.settle(new StoreError('canceled', `wait for revision ${revision}: the cache was closed`));
    }
  }
}

import type { Clock } from '../../../daemon/base/clock.ts';
import { History } from './history.ts';
import type { HistoryWrite } from './history.ts';

interface Lease {
  ttlMs: number;
  key: string | undefined;
  timer: Disposable;
}

/** What all managers share: the history of keys, and leases that end by the cluster's clock. */
export class MemoryCluster {
  history = new History();
  readonly #clock: Clock;
  readonly #leases = new Map<string, Lease>();
  readonly #listeners = new Set<() => void>();
  #leasesMade = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  apply(writes: readonly HistoryWrite[]): number {
    const revision = this.history.apply(writes);
    this.#tell();
    return revision;
  }

  /** As if a backup had been restored: revisions go on from an earlier state. */
  restore(history: History): void {
    this.history = history;
    this.#tell();
  }

  /** Called after each change. */
  listen(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  grant(ttlMs: number): string {
    this.#leasesMade += 1;
    const id = String(this.#leasesMade);
    this.#leases.set(id, { ttlMs, key: undefined, timer: this.#expiry(id, ttlMs) });
    return id;
  }

  keepAlive(id: string): boolean {
    const lease = this.#leases.get(id);
    if (lease === undefined) {
      return false;
    }
    lease.timer[Symbol.dispose]();
    lease.timer = this.#expiry(id, lease.ttlMs);
    return true;
  }

  revoke(id: string): void {
    const lease = this.#leases.get(id);
    lease?.timer[Symbol.dispose]();
    this.#leases.delete(id);
    if (lease?.key !== undefined) {
      this.apply([{ kind: 'delete', key: lease.key }]);
    }
  }

  claim(key: string, value: Buffer, id: string): number | undefined {
    const lease = this.#leases.get(id);
    if (lease === undefined || this.history.get(key) !== undefined) {
      return undefined;
    }
    lease.key = key;
    return this.apply([{ kind: 'put', key, value }]);
  }

  #expiry(id: string, ttlMs: number): Disposable {
    return this.#clock.setTimeout(() => this.revoke(id), ttlMs);
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      listener();
    }
  }
}

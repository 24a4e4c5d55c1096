import type { Clock } from '../../../daemon/base/clock.ts';
import { unreachable } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { checkCommit } from '../check-commit.ts';
import { elect } from '../election.ts';
import type { Leases } from '../election.ts';
import { StoreError } from '../errors.ts';
import type { Candidate, Commit, Leadership, Page, Store, ViewOptions, WatchListener } from '../port.ts';
import type { MemoryCall, MemoryFaults } from './faults.ts';
import type { MemoryCluster } from './memory-cluster.ts';
import { MemoryWatch } from './memory-watch.ts';

/** One manager's way to a store in memory: as etcd's, with failures on request and no time of its own. */
export class MemoryStore implements Store {
  readonly #clock: Clock;
  readonly #cluster: MemoryCluster;
  readonly #faults: MemoryFaults;
  readonly #watches = new Set<MemoryWatch>();
  readonly #closed = new AbortController();

  constructor({ clock, cluster, faults }: { clock: Clock; cluster: MemoryCluster; faults?: MemoryFaults }) {
    this.#clock = clock;
    this.#cluster = cluster;
    this.#faults = faults ?? (() => undefined);
  }

  async *view(prefix: string, options: ViewOptions = {}): AsyncIterable<Page> {
    let revision = options.revision;
    let sent = 0;
    for (;;) {
      const all = await this.#call('view', `view ${prefix}`, () => {
        const { history } = this.#cluster;
        revision ??= history.revision;
        if (revision < history.compactedTo) {
          throw new StoreError('compacted', `view ${prefix}: revision ${revision} is forgotten`);
        }
        return history.at(prefix, revision);
      });
      const entries = all.slice(sent, sent + limits.swarmStorePageKeys);
      sent += entries.length;
      yield {
        revision: revision ?? 0,
        entries:
          options.keysOnly === true
            ? entries.map((entry) => ({ ...entry, value: Buffer.alloc(0) }))
            : entries,
      };
      if (sent === all.length) {
        return;
      }
    }
  }

  commit(commit: Commit): Promise<number> {
    return this.#call('commit', `commit ${commit.writes[0]?.key ?? ''}`, () => {
      checkCommit(commit);
      const { history } = this.#cluster;
      const { fence } = commit;
      if (fence !== undefined && history.get(fence.key)?.created !== fence.created) {
        throw new StoreError('fenced', `commit as ${fence.key}: another leader was elected`);
      }
      const changed = commit.conditions
        .filter(({ key, revision }) => (history.get(key)?.revision ?? 0) !== revision)
        .map(({ key }) => key);
      if (changed.length > 0) {
        throw new StoreError('conflict', `commit: changed meanwhile: ${changed.join(', ')}`, { changed });
      }
      return this.#cluster.apply(commit.writes);
    });
  }

  watch(prefix: string, from: number, listener: WatchListener): Disposable {
    const watch = new MemoryWatch({
      clock: this.#clock,
      cluster: this.#cluster,
      faults: this.#faults,
      prefix,
      from,
      listener,
    });
    this.#watches.add(watch);
    return {
      [Symbol.dispose]: () => {
        watch[Symbol.dispose]();
        this.#watches.delete(watch);
      },
    };
  }

  elect(candidate: Candidate): Promise<Leadership> {
    const signals = [this.#closed.signal, ...(candidate.signal === undefined ? [] : [candidate.signal])];
    return elect(
      { clock: this.#clock, leases: this.#leases, store: this },
      { ...candidate, signal: AbortSignal.any(signals) },
    );
  }

  compact(revision: number): Promise<void> {
    return this.#call('compact', `compact to ${revision}`, () => {
      const { history } = this.#cluster;
      if (revision > history.revision) {
        throw new StoreError('refused', `compact to ${revision}: the store is at ${history.revision}`);
      }
      if (revision > history.compactedTo) {
        history.compact(revision);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    for (const watch of this.#watches) {
      watch[Symbol.dispose]();
    }
    this.#watches.clear();
  }

  readonly #leases: Leases = {
    grant: (ttlMs) => this.#call('grant', 'grant a lease', () => this.#cluster.grant(ttlMs)),
    keepAlive: (lease) => this.#call('keepAlive', 'keep a lease', () => this.#cluster.keepAlive(lease)),
    revoke: (lease) => this.#call('revoke', 'revoke a lease', () => this.#cluster.revoke(lease)),
    claim: (key, value, lease) =>
      this.#call('claim', `claim ${key}`, () => this.#cluster.claim(key, value, lease)),
  };

  /** One call over the network that is not there. */
  async #call<T>(call: MemoryCall, what: string, act: () => T): Promise<T> {
    if (this.#closed.signal.aborted) {
      throw new StoreError('canceled', `${what}: the store was closed`);
    }
    const fault = this.#faults(call);
    if (fault === undefined) {
      return act();
    }
    switch (fault.kind) {
      case 'conflict':
        throw new StoreError('conflict', `${what}: changed meanwhile`);
      case 'unavailable':
        throw new StoreError('unavailable', `${what}: no majority of the managers is there`);
      case 'lost answer':
        act();
        throw lostAnswer(call, what);
      case 'late':
        this.#clock.setTimeout(() => done(act), fault.ms);
        throw lostAnswer(call, what);
      case 'delay':
        return this.#late(call, what, { act, ms: fault.ms });
      default:
        return unreachable(fault);
    }
  }

  async #late<T>(call: MemoryCall, what: string, { act, ms }: { act: () => T; ms: number }): Promise<T> {
    const isTooLate = ms >= limits.swarmStoreCallMs;
    await this.#pause(isTooLate ? limits.swarmStoreCallMs : ms / 2);
    const answer = act();
    if (isTooLate) {
      throw lostAnswer(call, what);
    }
    await this.#pause(ms / 2);
    return answer;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimeout(resolve, ms);
    });
  }
}

/** What became of it nobody hears. */
function done(act: () => unknown): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof StoreError)) {
      throw error;
    }
  }
}

function lostAnswer(call: MemoryCall, what: string): StoreError {
  return call === 'view'
    ? new StoreError('unavailable', `${what}: no answer`)
    : new StoreError('unknown', `${what}: no answer, it may stand`);
}

import type { Clock } from '../../daemon/base/clock.ts';
import { EngineError, errorText, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { keyChanged, type Cluster } from '../cluster/cluster.ts';
import { keptKey } from '../objects/values.ts';
import type { Change, Commit, Entry, Fence } from '../store/port.ts';
import { commitUntilKnown, type SealedCommit } from './commit.ts';
import { History } from './history.ts';
import type { KeptChange, KeptEvent, KeptListener, KeptPage, KeptRecord } from './port.ts';

export interface SwarmRecordsDeps {
  clock: Clock;
  logger: Logger;
  cluster: Cluster;
  sealer: { seal(name: string, value: Buffer): Buffer; open(name: string, sealed: Buffer): Buffer };
  /** Whose they are: part of their keys. */
  name: string;
}

/**
 * Records in the store of the swarm, each of them sealed. They are read from this manager's memory, which goes on
 * without a majority; an update is on a majority of the managers when it is answered, and can be read here.
 */
export class SwarmRecords implements Disposable {
  readonly #deps: SwarmRecordsDeps;
  readonly #prefix: string;
  readonly #history: History;
  readonly #subscription: Disposable;
  /** The keys of the last list: its next page is asked for at once. */
  #listed: { prefix: string; revision: number; keys: readonly string[] } | undefined;

  constructor(deps: SwarmRecordsDeps) {
    this.#deps = deps;
    this.#prefix = keptKey(deps.name, '');
    this.#history = new History(limits.hubUpdatesRemembered, deps.cluster.revision);
    this.#subscription = deps.cluster.subscribeValues((changes) => this.#take(changes));
  }

  /** As this manager knows it; undefined = there is none. */
  async get(key: string): Promise<KeptRecord | undefined> {
    return this.peek(key);
  }

  /** As `get`, at once. */
  peek(key: string): KeptRecord | undefined {
    const entry = this.#deps.cluster.value(this.#prefix + key);
    return entry && this.#opened(entry);
  }

  /** Records below a prefix in order of keys: at most `limit`, from behind the key `after` on. */
  async list(prefix: string, options: { after?: string; limit?: number } = {}): Promise<KeptPage> {
    const { after = '', limit = limits.hubPageRecords } = options;
    const { cluster } = this.#deps;
    const { revision } = cluster;
    const keys = this.#keysBelow(prefix, revision);
    const first = after === '' ? 0 : firstAfter(keys, after);
    const records = keys.slice(first, first + limit).flatMap((key) => {
      const entry = cluster.value(this.#prefix + key);
      return entry === undefined ? [] : [this.#opened(entry)];
    });
    return { records, revision };
  }

  /**
   * Makes all changes or none. Throws conflict when a record is not at the revision that was expected,
   * resource_exhausted for a value larger than `limits.hubRecordBytesMax`, unavailable without a majority: then the
   * change was not made, unless the message says that nobody knows. With a fence, failed_precondition when the election
   * is over that it proves.
   */
  async update(
    changes: readonly KeptChange[],
    { fence }: { fence?: Fence; mayBeLost?: boolean } = {},
  ): Promise<number> {
    const { clock, cluster, logger } = this.#deps;
    invariant(new Set(changes.map(({ key }) => key)).size === changes.length, 'an update names a key twice');
    const commit = this.#commitOf(changes, fence);
    if (commit.conditions.length === 0 && commit.writes.length === 0) {
      return this.#history.told;
    }
    failpoint('swarm.records.update');
    const revision = await commitUntilKnown({ clock, store: cluster.store }, commit, (entry) =>
      JSON.stringify(this.#opened(entry).value),
    );
    failpoint('swarm.records.updated');
    try {
      await cluster.reached(revision);
    } catch (error) {
      // It is written all the same.
      logger.warn({ reason: errorText(error), revision }, 'what was written is not to be read here yet');
      return revision;
    }
    // What changed nothing is read at the revision of the newest change.
    return Math.min(revision, this.#history.told);
  }

  /** Tells changes below a prefix from a revision on, until it is disposed of or has told that it cannot go on. */
  watch(prefix: string, from: number, listener: KeptListener): Disposable {
    return this.#history.watch(prefix, from, listener);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }

  #take(changes: readonly Change[]): void {
    const own = changes.filter((change) => keyChanged(change).startsWith(this.#prefix));
    if (own.length === 0) {
      return;
    }
    const revision = Math.max(...own.map(revisionOf));
    if (revision <= this.#history.told) {
      // The store was taken back to what it was.
      this.#history.forget(this.#deps.cluster.revision);
      return;
    }
    let events: KeptEvent[];
    try {
      events = own.map((change) => this.#event(change));
    } catch (error) {
      // Sealed with a key that this manager is about to be told.
      this.#deps.logger.warn({ reason: errorText(error) }, 'records in the swarm cannot be read yet');
      this.#history.forget(revision);
      return;
    }
    this.#history.tell(events, revision);
  }

  #event(change: Change): KeptEvent {
    return change.kind === 'put'
      ? { kind: 'put', record: this.#opened(change.entry) }
      : { kind: 'delete', key: change.key.slice(this.#prefix.length) };
  }

  /** Throws what the sealer throws. */
  #opened({ key, value, revision }: Entry): KeptRecord {
    const text = this.#deps.sealer.open(key, value).toString();
    return { key: key.slice(this.#prefix.length), value: JSON.parse(text), revision };
  }

  #commitOf(changes: readonly KeptChange[], fence: Fence | undefined): SealedCommit {
    const texts = new Map<string, string>();
    const writes = changes.flatMap((change): Commit['writes'] => {
      const key = this.#prefix + change.key;
      if (change.kind !== 'put') {
        return change.kind === 'delete' ? [{ kind: 'delete', key }] : [];
      }
      const text = textOf(change);
      texts.set(key, text);
      return [{ kind: 'put', key, value: this.#deps.sealer.seal(key, Buffer.from(text)) }];
    });
    const conditions = changes.flatMap(({ key, expected }) =>
      expected === undefined ? [] : [{ key: this.#prefix + key, revision: expected }],
    );
    return { conditions, writes, texts, ...(fence && { fence }) };
  }

  #keysBelow(prefix: string, revision: number): readonly string[] {
    const known = this.#listed;
    if (known?.prefix === prefix && known.revision === revision) {
      return known.keys;
    }
    const whole = this.#prefix + prefix;
    const keys = Array.from(this.#deps.cluster.values(whole), ({ key }) => key)
      .filter((key) => key.length > whole.length)
      .map((key) => key.slice(this.#prefix.length))
      .toSorted(byBytes);
    this.#listed = { prefix, revision, keys };
    return keys;
  }
}

/** Keys are ASCII. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function firstAfter(keys: readonly string[], after: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] ?? '') <= after) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function revisionOf(change: Change): number {
  return change.kind === 'put' ? change.entry.revision : change.revision;
}

function textOf({ key, value }: { key: string; value: unknown }): string {
  const text = JSON.stringify(value);
  const size = Buffer.byteLength(text);
  if (size > limits.hubRecordBytesMax) {
    throw new EngineError(
      'resource_exhausted',
      `record ${key} has ${size} bytes; at most ${limits.hubRecordBytesMax} are kept`,
    );
  }
  return text;
}

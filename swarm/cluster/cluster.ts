import type { Clock } from '../../daemon/base/clock.ts';
import { errorText } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { decodePart, encodePart } from '../objects/codec.ts';
import { keyOf, partOf } from '../objects/keys.ts';
import { put, remove, type PartName, type Parts, type Write } from '../objects/parts.ts';
import { ClusterState } from '../planner/state/cluster-state.ts';
import { StoreCache } from '../store/cache/store-cache.ts';
import { isStoreError, StoreError } from '../store/errors.ts';
import type { Change, Commit, Entry, Store, Write as StoreWrite } from '../store/port.ts';

/** A part decoded; what is no part as it came; undefined for a part that this version cannot read. */
type Value = Parts[PartName] | Buffer | undefined;

/** Called with changes of keys that are no parts, in order. */
export type ValueListener = (changes: readonly Change[]) => void;

interface Deps {
  clock: Clock;
  logger: Logger;
  store: Store;
}

/** A part as it was changed, with the revision of that change. */
export interface ChangedPart {
  write: Write;
  revision: number;
}

/** Called with the parts of each change in order, after `state` has them. */
export type ClusterListener = (changed: readonly ChangedPart[]) => void;

/** What is written in one transaction: parts of objects, and values that are no part (names, sealed data). */
export interface ClusterCommit extends Omit<Commit, 'writes'> {
  parts?: readonly Write[];
  values?: readonly StoreWrite[];
}

/**
 * The cluster as one manager knows it: what the store keeps, decoded and indexed, at most as old as the watch. Every
 * manager answers its clients from here and writes through it. The planner has a state of its own, which it changes
 * ahead of the store.
 */
export class Cluster implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #listeners = new Set<ClusterListener>();
  readonly #valueListeners = new Set<ValueListener>();
  /** What is being written: it is kept as it was given, where the store brings it back. */
  readonly #written = new Map<string, { bytes: Buffer; value: Parts[PartName] }>();
  #cache: StoreCache<Value> | undefined;
  /** Read only. */
  readonly state = new ClusterState();

  private constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Resolves when everything is here; until then the store is asked again for as long as it does not answer. */
  static async open(deps: Deps): Promise<Cluster> {
    const cluster = new Cluster(deps);
    cluster.#cache = await StoreCache.open({ ...deps, read: (entry) => cluster.#read(entry) }, (changes) =>
      cluster.#take(changes),
    );
    return cluster;
  }

  get store(): Store {
    return this.#deps.store;
  }

  /** All up to it is here. */
  get revision(): number {
    return this.#opened.revision;
  }

  /** At which revision a part was written last; 0 where it is not there. What a commit's condition asks for. */
  revisionOf(part: PartName, id: string): number {
    return this.#opened.get(keyOf(part, id))?.revision ?? 0;
  }

  /** Revisions of a key, part or not: of its last change, and of the change that made it. */
  version(key: string): Pick<Entry, 'revision' | 'created'> | undefined {
    return this.#opened.get(key);
  }

  /** A value by its key; undefined for a part. */
  value(key: string): Entry | undefined {
    const entry = this.#opened.get(key);
    return entry !== undefined && isBytes(entry) ? entry : undefined;
  }

  /** Values below a prefix, which are no parts: looks at everything that there is. */
  *values(prefix: string): Iterable<Entry> {
    for (const entry of this.#opened.entries()) {
      if (entry.key.startsWith(prefix) && isBytes(entry)) {
        yield entry;
      }
    }
  }

  /** A part as the store has it, read only; undefined where it is not there, or cannot be read. */
  part<P extends PartName>(part: P, id: string): Parts[P] | undefined {
    // The key says which part it is.
    return this.#opened.get(keyOf(part, id))?.value as Parts[P] | undefined;
  }

  /** Everything that is a part, as puts: to fill another state from. */
  *parts(): Iterable<ChangedPart> {
    for (const entry of this.#opened.entries()) {
      const changed = changedPart({ kind: 'put', entry });
      if (changed !== undefined) {
        yield changed;
      }
    }
  }

  subscribe(listener: ClusterListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  subscribeValues(listener: ValueListener): Disposable {
    this.#valueListeners.add(listener);
    return { [Symbol.dispose]: () => this.#valueListeners.delete(listener) };
  }

  /**
   * Writes all or nothing, and waits until it can be read here. Answers the revision. Throws `StoreError`: on
   * `conflict` decide again with what is here now; `unknown` with `stands` where it is written and is not here yet.
   */
  async commit({ parts = [], values = [], ...rest }: ClusterCommit): Promise<number> {
    const writes = parts.map(encoded);
    using _written = this.#remember(parts, writes);
    const revision = await this.#deps.store.commit({ ...rest, writes: [...writes, ...values] });
    try {
      await this.#opened.reached(revision);
    } catch (cause) {
      if (!isStoreError(cause, 'unavailable')) {
        throw cause;
      }
      // Whoever takes this for "nothing was written" gives to others what was just given.
      const text = `commit: it stands at revision ${revision}, which this manager has not read yet`;
      throw new StoreError('unknown', text, { cause, stands: revision });
    }
    return revision;
  }

  /** Resolves when what was written at a revision can be read here. Throws `unavailable` when that takes too long. */
  reached(revision: number): Promise<void> {
    return this.#opened.reached(revision);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    this.#valueListeners.clear();
    await this.#cache?.[Symbol.asyncDispose]();
  }

  get #opened(): StoreCache<Value> {
    // `open` hands no cluster out without its cache.
    return this.#cache as StoreCache<Value>;
  }

  /** Until the disposal. */
  #remember(parts: readonly Write[], writes: readonly StoreWrite[]): Disposable {
    const written = writes.flatMap((write, index) => {
      const value = parts[index]?.value ?? null;
      return write.kind === 'put' && value !== null ? [{ key: write.key, bytes: write.value, value }] : [];
    });
    written.forEach((each) => this.#written.set(each.key, each));
    return {
      [Symbol.dispose]: () => {
        written
          .filter((each) => this.#written.get(each.key) === each)
          .forEach(({ key }) => this.#written.delete(key));
      },
    };
  }

  /** A value that this version cannot read is left out: the others must not be lost with it. */
  #read({ key, value }: Entry): Value {
    const named = partOf(key);
    if (named === undefined) {
      return value;
    }
    const written = this.#written.get(key);
    if (written?.bytes.equals(value) === true) {
      return written.value;
    }
    try {
      return decodePart(named.part, named.id, value);
    } catch (error) {
      this.#deps.logger.error({ key, error: errorText(error) }, 'a value of the swarm is left out');
      return undefined;
    }
  }

  #take(changes: readonly Change<Value>[]): void {
    const changed = changes.flatMap((change) => changedPart(change) ?? []);
    for (const { write } of changed) {
      this.state.apply(write);
    }
    for (const listener of this.#listeners) {
      listener(changed);
    }
    const values = changes.filter(isOfValue);
    if (values.length > 0) {
      for (const listener of this.#valueListeners) {
        listener(values);
      }
    }
  }
}

function changedPart(change: Change<Value>): ChangedPart | undefined {
  const { key, revision } = change.kind === 'put' ? change.entry : change;
  const named = partOf(key);
  if (named === undefined) {
    return undefined;
  }
  if (change.kind === 'delete') {
    return { write: remove(named.part, named.id), revision };
  }
  const { value } = change.entry;
  return value === undefined || Buffer.isBuffer(value)
    ? undefined
    : { write: put(named.part, value), revision };
}

function isBytes(entry: Entry<Value>): entry is Entry {
  return Buffer.isBuffer(entry.value);
}

function isOfValue(change: Change<Value>): change is Change {
  return change.kind === 'put' ? isBytes(change.entry) : partOf(change.key) === undefined;
}

/** The key of a change. */
export function keyChanged(change: Change<unknown>): string {
  return change.kind === 'put' ? change.entry.key : change.key;
}

/** A part's write as the store takes it. */
export function encoded(write: Write): StoreWrite {
  const key = keyOf(write.part, write.id);
  return write.value === null
    ? { kind: 'delete', key }
    : { kind: 'put', key, value: Buffer.from(encodePart(write.part, write.value)) };
}

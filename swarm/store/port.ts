/**
 * Where the swarm keeps its state: keys with values, changed in transactions, on a majority of the managers.
 *
 * Vocabulary
 * - A *revision* is the number of a transaction that changed something; all its keys have the same one. It counts up
 *   over the whole store, far below 2^53. An entry's `revision` is that of its last change, `created` that of the
 *   change that made it. Only a restored backup takes revisions back, and then the cluster's epoch is raised.
 * - A *fence* is the proof of an election: the leader's key and its `created`. A commit with a fence is refused once
 *   another leader was elected, however late the old one notices.
 *
 * How the parts go together: view a prefix, watch it from the answer's revision + 1, decide on what the two tell,
 * commit with the revisions that were decided on. On `conflict` decide again with what the watch brings.
 *
 * Every call ends within `limits.swarmStoreCallMs`, and throws `StoreError`. A commit that ended in `unknown` may
 * stand.
 * Keys are printable ASCII without a leading slash, `task/abc`; order is that of bytes.
 */
export interface Store extends AsyncDisposable {
  /**
   * All entries below a prefix as they were at one revision (the newest by default), sorted by key, in pages of at most
   * `limits.swarmStorePageKeys`. At least one page comes. Throws `compacted` where the revision is forgotten, also
   * between two pages.
   */
  view(prefix: string, options?: ViewOptions): AsyncIterable<Page>;

  /** Writes all or nothing. Answers the store's revision, at which the writes can be read. */
  commit(commit: Commit): Promise<number>;

  /**
   * Tells all changes below a prefix from a revision on, until the answer is disposed of or the listener was told to
   * relist. Lost connections and members are survived: nothing is told twice, nothing left out.
   */
  watch(prefix: string, from: number, listener: WatchListener): Disposable;

  /** Waits until this candidate leads; rejects with `canceled` when its signal comes first. */
  elect(candidate: Candidate): Promise<Leadership>;

  /** Forgets what was before a revision. Views at it and watches from after it still work; twice is once. */
  compact(revision: number): Promise<void>;
}

export interface Entry<V = Buffer> {
  key: string;
  /** Empty where only keys were asked for. Elsewhere than in a store it may be what the bytes were read as. */
  value: V;
  revision: number;
  created: number;
}

export interface Page {
  /** The same for all pages of one view. */
  revision: number;
  entries: readonly Entry[];
}

export interface ViewOptions {
  revision?: number;
  keysOnly?: boolean;
}

/** A key must still be as it was at this revision of its own; 0 = must not exist. */
export interface Condition {
  key: string;
  revision: number;
}

export type Write = { kind: 'put'; key: string; value: Buffer } | { kind: 'delete'; key: string };

/**
 * At most `limits.swarmStoreCommitOperationsMax` conditions (one less with a fence) and as many writes, each key once.
 * To delete what is not there changes nothing.
 */
export interface Commit {
  conditions: readonly Condition[];
  writes: readonly Write[];
  fence?: Fence;
  /** Time to wait for the answer, `limits.swarmStoreCallMs` by default: then it ends in `unknown`. */
  timeoutMs?: number;
}

export type Change<V = Buffer> =
  | { kind: 'put'; entry: Entry<V> }
  | { kind: 'delete'; key: string; revision: number };

export interface WatchListener {
  /**
   * Changes in order of revision, all of one revision in one call. `revision`: all up to it has been told. Without
   * changes the call tells only of that.
   */
  onChanges(changes: readonly Change[], revision: number): void;
  /** Changes are forgotten that were not told, or the store went back to an earlier state. The watch has ended. */
  onRelist(reason: RelistReason): void;
}

export type RelistReason = 'compacted' | 'went back';

export interface Fence {
  key: string;
  created: number;
}

export interface Candidate {
  /** Stored while the candidate leads, and gone with it. */
  key: string;
  value: Buffer;
  /** The leader is given up when nothing was heard of it for so long. etcd counts in seconds. */
  ttlMs: number;
  signal?: AbortSignal;
}

export interface Leadership {
  readonly fence: Fence;
  /** Resolves when this candidate leads no more, with the reason as a sentence. By then another one may lead. */
  readonly lost: Promise<string>;
  /** Lets the next candidate lead at once. */
  resign(): Promise<void>;
}

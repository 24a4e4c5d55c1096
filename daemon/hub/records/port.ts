/**
 * Where the hub keeps what it knows: JSON values by key, changed in updates. On a single host SQLite is behind it
 * (local-records.ts), in a swarm the managers' store.
 *
 * Vocabulary
 * - A *revision* is the number of an update that changed something. It counts up over all records; a record has that of
 *   the update that wrote it last.
 * - Keys are printable ASCII in parts that `/` separates, `account/alice`. Order is that of bytes.
 *
 * Whoever decides on records says with each change at which revision it read them. On `conflict` it decides again.
 */
export interface Records {
  /** The record as it is now; undefined = there is none. */
  get(key: string): Promise<HubRecord | undefined>;

  /** Records below a prefix in order of keys: at most `limit`, from behind the key `after` on. */
  list(prefix: string, options?: ListOptions): Promise<RecordPage>;

  /**
   * Makes all changes or none, durably, and answers the revision at which they are to be read. Each key stands in at
   * most one change. Throws conflict when a record is not at the revision that was expected, resource_exhausted when a
   * value is larger than `limits.hubRecordBytesMax`.
   */
  update(changes: readonly RecordChange[], options?: UpdateOptions): Promise<number>;

  /** Tells changes below a prefix from a revision on, until it is disposed of or has told that it cannot go on. */
  watch(prefix: string, from: number, listener: RecordListener): Disposable;
}

export interface HubRecord {
  key: string;
  /** What JSON can say. */
  value: unknown;
  revision: number;
}

export interface UpdateOptions {
  /**
   * It need not survive a power cut within the next milliseconds, as what it says would be found out again. It survives
   * the end of the daemon all the same.
   */
  mayBeLost?: boolean;
}

export interface ListOptions {
  after?: string;
  limit?: number;
}

export interface RecordPage {
  records: readonly HubRecord[];
  /** Of all records when the page was read: a watch from the next one on misses nothing. */
  revision: number;
}

/** `expected`: the revision that the record must have, 0 = there must be none; absent = whatever it is. */
export type RecordChange =
  | { kind: 'put'; key: string; value: unknown; expected?: number }
  | { kind: 'delete'; key: string; expected?: number }
  | { kind: 'check'; key: string; expected: number };

/** What happened to one key. */
export type RecordEvent = { kind: 'put'; record: HubRecord } | { kind: 'delete'; key: string };

export interface RecordListener {
  /** All changes of one update that are below the prefix, in one call. */
  onChanges(events: readonly RecordEvent[], revision: number): void;
  /** Changes are forgotten that were not told: list again. The watch has ended. */
  onRelist(): void;
}

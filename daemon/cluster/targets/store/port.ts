/**
 * Where groups, targets, services and listeners are kept: records by key, all of them in memory, changed by updates
 * that hold if what was decided on still holds. `daemon/hub/records/mirror.ts` fits it.
 */
export interface TargetStore {
  /** Counts up with each change, also those that other managers make. */
  readonly revision: number;
  get(key: string): StoredRecord | undefined;
  /** Those below a prefix, in no order. */
  below(prefix: string): Iterable<StoredRecord>;
  /**
   * Decides on what is known, writes it durably, and decides anew when somebody else was faster. `decide` is pure but
   * for what it throws. Throws conflict when it lost too often.
   */
  change<T>(decide: () => { changes: readonly StoreChange[]; answer: T }): Promise<T>;
}

interface StoredRecord {
  key: string;
  value: unknown;
  revision: number;
}

/** `expected`: the revision that the record must have, 0 = there must be none. */
export type StoreChange =
  | { kind: 'put'; key: string; value: unknown; expected: number }
  | { kind: 'delete'; key: string; expected: number };

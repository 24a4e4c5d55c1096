/**
 * What parts of the engine beside the swarm keep in its store: JSON values by key, changed in updates. They declare
 * what they need as ports of their own, which fit this (`daemon/hub/records/port.ts`).
 *
 * A *revision* is that of the store. Revisions count up, and not each of them is one of these records.
 */
export interface KeptRecord {
  key: string;
  /** What JSON can say. */
  value: unknown;
  revision: number;
}

export interface KeptPage {
  records: readonly KeptRecord[];
  /** When the page was read: a watch from the next one on misses nothing. */
  revision: number;
}

/** `expected`: the revision that the record must have, 0 = there must be none; absent = whatever it is. */
export type KeptChange =
  | { kind: 'put'; key: string; value: unknown; expected?: number }
  | { kind: 'delete'; key: string; expected?: number }
  | { kind: 'check'; key: string; expected: number };

export type KeptEvent = { kind: 'put'; record: KeptRecord } | { kind: 'delete'; key: string };

export interface KeptListener {
  /** All changes of one update that are below the prefix, in one call. */
  onChanges(events: readonly KeptEvent[], revision: number): void;
  /** Changes are forgotten that were not told: list again. The watch has ended. */
  onRelist(): void;
}

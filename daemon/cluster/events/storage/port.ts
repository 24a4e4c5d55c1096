import type { EventFacts } from '../event-text.ts';

/**
 * Where events are kept: bodies (JSON without a resource version) by key, changed many at a time. On a single host
 * SQLite is behind it (`local-events.ts`), in a swarm the managers' store (`shared-events.ts`).
 *
 * A *revision* counts up over all changes; each change has one of its own.
 */
export interface EventStorage extends Disposable {
  /** How many commits may be under way at a time, and how many changes one takes. */
  readonly commitsMax: number;
  readonly changesMax: number;

  /** All events. From then on the listener is told all changes in their order, those of this host too. */
  open(listener: StorageListener): Promise<StoredState>;

  /**
   * Makes all changes or none. Resolves when they are durable and the listener was told. Throws conflict when one of
   * the events is not at the revision that was expected.
   */
  commit(changes: readonly StorageChange[]): Promise<void>;
}

export interface StoredState {
  events: readonly AppliedPut[];
  /** Of the newest change. */
  revision: number;
}

/** `expected`: the revision that the event must have, 0 = there must be none; absent = whatever it is. */
export type StorageChange =
  /** `facts`: of the body, so that nobody has to read it again. */
  | { kind: 'put'; key: string; body: string; facts: EventFacts; expected?: number }
  | { kind: 'delete'; key: string; expected?: number };

export type AppliedChange = AppliedPut | { kind: 'delete'; key: string; revision: number };

export interface AppliedPut {
  kind: 'put';
  key: string;
  body: string;
  revision: number;
  facts?: EventFacts;
}

export interface StorageListener {
  onChanges(changes: readonly AppliedChange[]): void;
  /** Changes were not told: this is what there is. */
  onReset(state: StoredState): void;
}

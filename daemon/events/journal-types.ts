import type { EventType } from '../../api/types/system.ts';

/** An event about to happen; the journal gives it its time. */
export interface EventDraft {
  type: EventType;
  /** `start`, `die`, `exec_create: /bin/sh`, ... */
  action: string;
  actorId: string;
  attributes: Record<string, string>;
  /** When it happened, where that is not now: UNIX nanoseconds. */
  timeNano?: bigint;
}

/** The row that a fact changes. */
export interface RowFact {
  /** Names the row: of several facts about it that wait, the newest is written. */
  key: string;
  /** Writes the row as it is to be by now. Called later, and again, while the database refuses it. */
  write(): void;
  /** The database has it: in this call or later. Never when the daemon ends before. Must not throw. */
  stored?(): void;
  /** Synced to disk before `note` returns, if the disk takes it. */
  durable?: boolean;
}

/**
 * The one way to change persistent state, in two words.
 *
 * A `commit` is state that may be refused: rows and events in one SQLite transaction, published after it (persist
 * before publish). `change` is synchronous; an await in it is a bug and throws. When it throws nothing has changed.
 *
 * A `note` is a fact: what has happened, or must happen even if the disk refuses it (a signal sent, an end, a removal).
 * Memory and clients have it at once. What the disk refuses is kept in memory and written when there is room, before
 * anything that is committed later. It never throws.
 */
export interface Journal {
  commit<T>(change: (emit: (event: EventDraft) => void) => T, options?: { durable?: boolean }): T;
  note(events: readonly EventDraft[], row?: RowFact): void;
  /** Stores what facts have left waiting. Throws what the database throws while it refuses them. */
  settle(): void;
  /** Publishes an event that is not kept: a client that asks for past events does not get it. */
  tell(event: EventDraft): void;
}

import type { EventType } from '../../api/types/system.ts';

/** An event about to happen; the journal gives it its time. */
export interface EventDraft {
  type: EventType;
  /** `start`, `die`, `exec_create: /bin/sh`, ... */
  action: string;
  actorId: string;
  attributes: Record<string, string>;
}

/**
 * The one way to change persistent state: rows and events in one SQLite transaction, published after its commit
 * (persist before publish). `change` is synchronous; an await in it is a bug and throws.
 */
export interface Journal {
  commit<T>(change: (emit: (event: EventDraft) => void) => T, options?: { durable?: boolean }): T;
  /** An event of what is done already. One that cannot be stored is published all the same: nobody's request fails. */
  note(event: EventDraft): void;
  /** Publishes an event that is not kept: whoever asks for the past does not get it. */
  tell(event: EventDraft): void;
}

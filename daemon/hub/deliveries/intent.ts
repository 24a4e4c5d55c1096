import type { Hook } from '../hooks/hook.ts';
import type { Actor, Occurrence } from '../occurrences/occurrence.ts';
import type { Repository } from '../repositories/repository.ts';

/** A delivery that is to be made. Records `intent/<id>`: there until it was made and written down. */
export interface Intent {
  /** ULID: in order of time. */
  id: string;
  /** Stays the same with every attempt. */
  guid: string;
  /** Ids. */
  hook: number;
  repository: number;
  event: string;
  /** Null = the event has none. */
  action: string | null;
  news: News;
  /** The hook as it was, where it went in the same update. */
  lastHook: Hook | null;
  /** From 0: how often it was tried before. */
  attempt: number;
  /** Not before: after a failure it is tried later. */
  notBeforeMs: number;
}

/** What the payload is made of. */
export type News =
  | { kind: 'occurrence'; occurrence: Occurrence }
  | { kind: 'ping'; repository: Repository; actor: Actor }
  | { kind: 'hook-deleted'; hook: Hook; repository: Repository; actor: Actor }
  /** What was sent in an earlier delivery, byte for byte. */
  | { kind: 'again'; delivery: number };

export const INTENTS = 'intent/';

export function intentKey({ id }: Pick<Intent, 'id'>): string {
  return INTENTS + id;
}

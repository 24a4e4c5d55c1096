import { limits } from '../../base/limits.ts';
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

/** Deliveries that wait or are under way. */
export interface Waiting {
  ofHook: number;
  inAll: number;
}

/**
 * Why a hook gets no more of them; undefined = it does. Where too many wait in all, those of hooks that have their
 * share do: receivers that are slow leave room for those that are not. Pure.
 */
export function fullness({ ofHook, inAll }: Waiting): string | undefined {
  const until = 'wait for their turn: no more of this one are taken until some are made';
  if (ofHook >= limits.hubIntentsOfHookMax) {
    return `${limits.hubIntentsOfHookMax} deliveries of this hook ${until}`;
  }
  return inAll >= limits.hubIntentsMax && ofHook >= limits.hubIntentsOfHookShare
    ? `${limits.hubIntentsMax} deliveries of all hooks, ${ofHook} of this one, ${until}`
    : undefined;
}

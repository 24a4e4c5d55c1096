import { limits } from '../../base/limits.ts';
import type { Hook } from '../hooks/hook.ts';
import type { Actor, Occurrence } from '../occurrences/occurrence.ts';
import type { Repository } from '../repositories/repository.ts';

/**
 * What is to be delivered of one occurrence, or of a ping and the like. Records `intent/<id>`: there until all of it
 * was made and written down.
 */
export interface IntentRecord {
  /** ULID: in order of time. */
  id: string;
  /** Its id. */
  repository: number;
  news: News;
  /** Those that are left. */
  deliveries: readonly IntendedDelivery[];
}

/** As an {@link Intent}; absent = nothing, or 0. */
interface IntendedDelivery extends Pick<Intent, 'guid' | 'hook' | 'event'> {
  /** Number within the record, which stays; absent = written by an older daemon, which wrote a record for each. */
  at?: number;
  action?: string;
  lastHook?: Hook;
  attempt?: number;
  notBeforeMs?: number;
}

/** A delivery that is to be made. */
export interface Intent {
  /** That of its record, with its number there. */
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

export function intentKey({ id }: Pick<IntentRecord, 'id'>): string {
  return INTENTS + id;
}

/** The deliveries of a record, in order, also of one of an older daemon, which is an intent itself. Pure. */
export function intentsOf(value: unknown): readonly Intent[] {
  // Written as such alone.
  const record = value as IntentRecord | Intent;
  if (!('deliveries' in record)) {
    return [record];
  }
  const { id, repository, news, deliveries } = record;
  return deliveries.map(({ at, guid, hook, event, action, lastHook, attempt, notBeforeMs }) => ({
    id: at === undefined ? id : `${id}-${at}`,
    guid,
    hook,
    repository,
    event,
    action: action ?? null,
    news,
    lastHook: lastHook ?? null,
    attempt: attempt ?? 0,
    notBeforeMs: notBeforeMs ?? 0,
  }));
}

/** The record of what is left of it: at least one. Pure. */
export function recordOf(id: string, intents: readonly [Intent, ...Intent[]]): IntentRecord {
  const [{ repository, news }] = intents;
  return { id, repository, news, deliveries: intents.map((intent) => intendedOf(id, intent)) };
}

function intendedOf(record: string, intent: Intent): IntendedDelivery {
  const { id, guid, hook, event, action, lastHook, attempt, notBeforeMs } = intent;
  return {
    ...(id !== record && { at: Number(id.slice(record.length + 1)) }),
    guid,
    hook,
    event,
    ...(action !== null && { action }),
    ...(lastHook !== null && { lastHook }),
    ...(attempt > 0 && { attempt }),
    ...(notBeforeMs > 0 && { notBeforeMs }),
  };
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

import type { ClusterEvent, ObjectReference, StoredEvent } from '../../../api/types/cluster/events.ts';

/** What selections, retention and lists look at, taken out of an event once. */
export interface EventFacts {
  uid: string;
  type: string;
  reason: string;
  controller: string;
  /** The component that older clients name. */
  source: string;
  regarding: ObjectReference;
  labels: Readonly<Record<string, string>> | undefined;
  /** When it last changed what it tells of: retention counts from there. UNIX milliseconds. */
  touchedMs: number;
}

/** An event as it is known: in memory, with its text ready to be sent. */
export interface KnownEvent extends StoredEvent {
  key: string;
  facts: EventFacts;
}

const BEFORE_VERSION = '{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{';

/** By namespace and name. */
export function eventKey(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** JSON without a resource version, which is not known before it is stored. */
export function bodyOf(event: ClusterEvent): string {
  // What is undefined is not in the text, and the first of two names says where a field stands.
  const metadata = { ...event.metadata, resourceVersion: undefined };
  return JSON.stringify(Object.assign({ ...KIND, metadata }, event, KIND, { metadata }));
}

const KIND = { kind: 'Event', apiVersion: 'events.k8s.io/v1' };

/** The body with its resource version. */
export function textOf(body: string, revision: number): string {
  return `${BEFORE_VERSION}"resourceVersion":"${revision}",${body.slice(BEFORE_VERSION.length)}`;
}

export function parseEvent(text: string): ClusterEvent {
  // `bodyOf` alone writes them, from events that were checked.
  return JSON.parse(text) as ClusterEvent;
}

export function factsOf(event: ClusterEvent): EventFacts {
  const { metadata, series, regarding = {}, eventTime, deprecatedLastTimestamp } = event;
  const { creationTimestamp, uid = '', labels } = metadata;
  // What clients say of times may be anything: the creation is ours, and a series goes on behind it.
  const created = Date.parse(creationTimestamp ?? '') || 0;
  const seen = Date.parse(series?.lastObservedTime ?? deprecatedLastTimestamp ?? eventTime ?? '') || 0;
  return {
    uid,
    type: event.type ?? '',
    reason: event.reason ?? '',
    controller: event.reportingController ?? '',
    source: event.deprecatedSource?.component ?? '',
    regarding,
    labels,
    touchedMs: Math.max(created, Math.min(seen, Date.now())),
  };
}

export function knownEvent(key: string, body: string, revision: number, facts?: EventFacts): KnownEvent {
  const slash = key.indexOf('/');
  return {
    key,
    namespace: key.slice(0, slash),
    name: key.slice(slash + 1),
    revision,
    text: textOf(body, revision),
    facts: facts ?? factsOf(parseEvent(body)),
  };
}

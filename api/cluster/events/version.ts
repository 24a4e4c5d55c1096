import type { ClusterEvent, EventFields, EventPatchKind, StoredEvent } from '../../types/cluster/events.ts';
import { patchToEvents, toCore, toEvents, type CoreEvent } from './convert.ts';
import { CORE_EVENT, EVENT, type Fields } from './decode/schema.ts';

/** One of the two versions that events are served in. */
export interface EventVersion {
  fields: EventFields;
  /** Of its paths: `/apis/events.k8s.io/v1`. */
  prefix: string;
  apiVersion: string;
  schema: { title: string; fields: Fields };
  /** From an object of its schema. */
  read(object: Record<string, unknown>): ClusterEvent;
  /** JSON of an event. */
  text(event: StoredEvent): string;
  /** A patch, with the names of `events.k8s.io/v1`. */
  renamed(patch: unknown, kind: EventPatchKind): unknown;
}

export const EVENTS_V1: EventVersion = {
  fields: 'events',
  prefix: '/apis/events.k8s.io/v1',
  apiVersion: 'events.k8s.io/v1',
  schema: EVENT,
  // `conform` has checked the types of all fields.
  read: (object) => ({ metadata: {}, ...(object as Partial<ClusterEvent>) }),
  text: (event) => event.text,
  renamed: (patch) => patch,
};

export const CORE_V1: EventVersion = {
  fields: 'core',
  prefix: '/api/v1',
  apiVersion: 'v1',
  schema: CORE_EVENT,
  // As above.
  read: (object) => toEvents({ metadata: {}, ...(object as Partial<CoreEvent>) }),
  text: (event) => coreText(event),
  renamed: patchToEvents,
};

/** Made once for each event and change. */
const coreTexts = new WeakMap<StoredEvent, string>();

function coreText(event: StoredEvent): string {
  const known = coreTexts.get(event);
  if (known !== undefined) {
    return known;
  }
  // The engine's own text.
  const text = JSON.stringify(toCore(JSON.parse(event.text) as ClusterEvent));
  coreTexts.set(event, text);
  return text;
}

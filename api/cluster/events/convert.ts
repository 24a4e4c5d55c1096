import type {
  ClusterEvent,
  EventPatchKind,
  EventSeries,
  ObjectMeta,
  ObjectReference,
} from '../../types/cluster/events.ts';

/** Kubernetes: `v1.Event`, the older form of the same. */
export interface CoreEvent {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  involvedObject?: ObjectReference;
  reason?: string;
  message?: string;
  source?: { component?: string; host?: string };
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  count?: number;
  type?: string;
  eventTime?: string | null;
  series?: EventSeries | null;
  action?: string;
  related?: ObjectReference | null;
  reportingComponent?: string;
  reportingInstance?: string;
}

/** Names that differ: in `v1`, and in `events.k8s.io/v1`. */
const NAMES = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
] as const;

const TO_CORE: ReadonlyMap<string, string> = new Map(NAMES.map(([core, events]) => [events, core]));
const TO_EVENTS: ReadonlyMap<string, string> = new Map(NAMES.map(([core, events]) => [core, events]));

export function toCore(event: ClusterEvent): CoreEvent {
  // Both have the same fields under the names of the table.
  return { ...(renamed(event, TO_CORE) as unknown as CoreEvent), apiVersion: 'v1' };
}

export function toEvents(event: CoreEvent): ClusterEvent {
  // As above.
  return { ...(renamed(event, TO_EVENTS) as unknown as ClusterEvent), apiVersion: 'events.k8s.io/v1' };
}

/** A patch of the older form as one of the newer: the names at its top, or those that its paths begin with. */
export function patchToEvents(patch: unknown, kind: EventPatchKind): unknown {
  if (kind === 'json' && Array.isArray(patch)) {
    return patch.map((operation: unknown) => {
      const { path, from, ...rest }: { path?: unknown; from?: unknown } = { ...Object(operation) };
      return {
        ...rest,
        ...(path !== undefined && { path: renamedPath(path) }),
        ...(from !== undefined && { from: renamedPath(from) }),
      };
    });
  }
  if (typeof patch !== 'object' || patch === null) {
    return patch;
  }
  const { apiVersion, ...rest }: { apiVersion?: unknown } = renamed(patch, TO_EVENTS);
  // One of the older version is meant; any other is refused for what it is.
  return {
    ...(apiVersion !== undefined && { apiVersion: apiVersion === 'v1' ? 'events.k8s.io/v1' : apiVersion }),
    ...rest,
  };
}

function renamedPath(path: unknown): unknown {
  return typeof path === 'string'
    ? path.replace(/^\/([^/]+)/, (_whole, first: string) => `/${TO_EVENTS.get(first) ?? first}`)
    : path;
}

function renamed(event: object, names: ReadonlyMap<string, string>): object {
  return Object.fromEntries(Object.entries(event).map(([name, value]) => [names.get(name) ?? name, value]));
}

/** Kubernetes: `v1.ObjectReference`. */
export interface ObjectReference {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** Kubernetes: `meta/v1.ObjectMeta`, as far as events have it. */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  selfLink?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: object[];
  finalizers?: string[];
  managedFields?: ManagedFields[];
}

/** Kubernetes: `meta/v1.ManagedFieldsEntry`. */
export interface ManagedFields {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: object;
  subresource?: string;
}

export interface EventSeries {
  count: number;
  /** With microseconds. */
  lastObservedTime: string;
}

/** Kubernetes: `events.k8s.io/v1.Event`. Times are RFC 3339; `eventTime` has microseconds. */
export interface ClusterEvent {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  eventTime?: string | null;
  series?: EventSeries | null;
  reportingController?: string;
  reportingInstance?: string;
  action?: string;
  reason?: string;
  regarding?: ObjectReference;
  related?: ObjectReference | null;
  note?: string;
  type?: string;
  deprecatedSource?: { component?: string; host?: string };
  deprecatedFirstTimestamp?: string | null;
  deprecatedLastTimestamp?: string | null;
  deprecatedCount?: number;
}

/** An event as it is kept. */
export interface StoredEvent {
  namespace: string;
  name: string;
  /** Counts up over all events; that of the last change. */
  revision: number;
  /** JSON of a {@link ClusterEvent} with everything in it: made once, sent many times. */
  text: string;
}

/** Which version's names a field selector has: `regarding.name`, or `involvedObject.name`. */
export type EventFields = 'events' | 'core';

export interface EventSelection {
  /** Undefined = all. */
  namespace: string | undefined;
  /** As clients write them; empty = all. */
  fieldSelector: string;
  labelSelector: string;
  fields: EventFields;
}

export interface EventPage {
  items: readonly StoredEvent[];
  /** Of all events when the page was read: a watch from it on misses nothing. */
  revision: number;
  /** Where the next page begins; undefined = this is the last one. */
  next: string | undefined;
  /** How many come after it. */
  remaining: number;
}

export type EventPatchKind = 'json' | 'merge' | 'strategic' | 'apply';

export interface EventWrite {
  /** Whose rules: events of the older version need not say as much. */
  fields: EventFields;
  /** Nothing is kept, all else is as if. */
  isDryRun: boolean;
  /** Who changes fields, for their ownership; undefined = nobody says. */
  manager: string | undefined;
}

export interface EventPatch extends EventWrite {
  kind: EventPatchKind;
  /** The patch, parsed. */
  body: unknown;
  /** `apply` only: takes fields from their owners. */
  isForced: boolean;
  /** Throws for a result that is no event, with what the client is to be told of it. */
  check: (event: ClusterEvent) => ClusterEvent;
}

export interface EventPreconditions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
}

export interface EventWatcher {
  /** Changes in their order. */
  onChanges(changes: readonly WatchedChange[]): void;
  /** Changes are forgotten that were not told, or the events went elsewhere: list again. The watch has ended. */
  onEnd(): void;
}

/** As a watch with a selection sees a change: what begins to match is added, what ceases to is deleted. */
export interface WatchedChange {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  event: StoredEvent;
}

/** What HTTP needs of events. All methods throw `EngineError`, with Kubernetes' reason in `details`. */
export interface ClusterEventsPort {
  /** Of the newest change. */
  readonly revision: number;
  /** Changes up to this one were told to watches. */
  readonly told: number;
  /** Changes after this one are known to watches. */
  readonly oldest: number;
  get(namespace: string, name: string): StoredEvent;
  /** In order of namespace and name, from behind `after` on. Throws invalid_argument for a selector. */
  list(selection: EventSelection, page?: { limit?: number; after?: string }): EventPage;
  create(event: ClusterEvent, write: EventWrite): Promise<StoredEvent>;
  /** Creates what is not there. */
  replace(event: ClusterEvent, write: EventWrite): Promise<{ event: StoredEvent; isNew: boolean }>;
  /** `apply` creates what is not there. */
  patch(namespace: string, name: string, patch: EventPatch): Promise<{ event: StoredEvent; isNew: boolean }>;
  remove(
    namespace: string,
    name: string,
    options: { isDryRun: boolean; preconditions: EventPreconditions },
  ): Promise<StoredEvent>;
  /** Answers what is gone, at most `limit`. */
  removeAll(selection: EventSelection, options: { isDryRun: boolean; limit?: number }): Promise<EventPage>;
  /** Tells all changes after a revision. Throws expired for one that is forgotten. */
  watch(selection: EventSelection, from: number, watcher: EventWatcher): Disposable;
}

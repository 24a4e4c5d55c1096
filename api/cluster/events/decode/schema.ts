/** What a field may hold. Objects say all that they have: anything else is unknown. */
export type FieldType =
  | { kind: 'string' | 'boolean' | 'int32' | 'int64' | 'time' | 'microtime' | 'any' }
  | { kind: 'map' }
  | { kind: 'list'; of: FieldType }
  | { kind: 'object'; title: string; fields: Fields };

export type Fields = Readonly<Record<string, FieldType>>;

const text: FieldType = { kind: 'string' };
const integer: FieldType = { kind: 'int32' };
const time: FieldType = { kind: 'time' };
const microtime: FieldType = { kind: 'microtime' };
const map: FieldType = { kind: 'map' };

function object(title: string, fields: Fields): FieldType {
  return { kind: 'object', title, fields };
}

const reference = object('ObjectReference', {
  kind: text,
  namespace: text,
  name: text,
  uid: text,
  apiVersion: text,
  resourceVersion: text,
  fieldPath: text,
});

const source = object('EventSource', { component: text, host: text });

const series = object('EventSeries', { count: integer, lastObservedTime: microtime });

const owner = object('OwnerReference', {
  apiVersion: text,
  kind: text,
  name: text,
  uid: text,
  controller: { kind: 'boolean' },
  blockOwnerDeletion: { kind: 'boolean' },
});

const managed = object('ManagedFieldsEntry', {
  manager: text,
  operation: text,
  apiVersion: text,
  time,
  fieldsType: text,
  fieldsV1: { kind: 'any' },
  subresource: text,
});

const metadata = object('ObjectMeta', {
  name: text,
  generateName: text,
  namespace: text,
  selfLink: text,
  uid: text,
  resourceVersion: text,
  generation: { kind: 'int64' },
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: { kind: 'int64' },
  labels: map,
  annotations: map,
  ownerReferences: { kind: 'list', of: owner },
  finalizers: { kind: 'list', of: text },
  managedFields: { kind: 'list', of: managed },
});

/** Of every object. */
const common: Fields = { apiVersion: text, kind: text, metadata };

/** `events.k8s.io/v1`. */
export const EVENT = {
  title: 'Event',
  fields: {
    ...common,
    eventTime: microtime,
    series,
    reportingController: text,
    reportingInstance: text,
    action: text,
    reason: text,
    regarding: reference,
    related: reference,
    note: text,
    type: text,
    deprecatedSource: source,
    deprecatedFirstTimestamp: time,
    deprecatedLastTimestamp: time,
    deprecatedCount: integer,
  } satisfies Fields,
};

/** `v1`. */
export const CORE_EVENT = {
  title: 'Event',
  fields: {
    ...common,
    eventTime: microtime,
    series,
    reportingComponent: text,
    reportingInstance: text,
    action: text,
    reason: text,
    involvedObject: reference,
    related: reference,
    message: text,
    type: text,
    source,
    firstTimestamp: time,
    lastTimestamp: time,
    count: integer,
  } satisfies Fields,
};

import { isDeepStrictEqual } from 'node:util';
import type { ClusterEvent, EventFields, ObjectMeta } from '../../../../api/types/cluster/events.ts';
import { Faults } from '../problems.ts';
import { labelValueProblem, namespaceProblem, qualifiedNameProblem, subdomainProblem } from './names.ts';

/** Kubernetes counts bytes and says characters. */
const TEXT_BYTES_MAX = 128;
const NOTE_BYTES_MAX = 1_024;
const ANNOTATION_BYTES_MAX = 256 * 1_024;

/** Namespaces whose events may be about what has none. */
const OF_ALL = new Set(['default', 'kube-system']);

/** The names that both versions of the interface have in common with the object behind them, which errors say. */
const FIELDS = {
  regarding: 'involvedObject',
  note: 'message',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
  reason: 'reason',
  action: 'action',
  related: 'related',
  reportingController: 'reportingController',
  reportingInstance: 'reportingInstance',
  type: 'type',
  eventTime: 'eventTime',
} as const;

/** What is wrong with a new event (Kubernetes: `ValidateEventCreate`). Throws invalid_argument with all of it. */
export function validateCreate(event: ClusterEvent, fields: EventFields): void {
  const faults = new Faults();
  checkMeta(event.metadata, faults);
  checkCommon(event, fields, faults);
  if (fields === 'events') {
    checkNew(event, faults);
  }
  faults.refuse(nameOf(event));
}

/** What of a change is not allowed (Kubernetes: `ValidateEventUpdate`). Throws invalid_argument with all of it. */
export function validateUpdate(event: ClusterEvent, before: ClusterEvent, fields: EventFields): void {
  const faults = new Faults();
  checkMeta(event.metadata, faults);
  checkCommon(event, fields, faults);
  if (fields === 'events') {
    if (!isDeepStrictEqual(event.series ?? null, before.series ?? null)) {
      checkSeries(event, faults);
    }
    for (const [field, name] of Object.entries(FIELDS)) {
      const [is, was] = [valueOf(event, field), valueOf(before, field)];
      if (!isDeepStrictEqual(is, was)) {
        faults.invalid(name, is, 'field is immutable');
      }
    }
  }
  faults.refuse(nameOf(event));
}

/** Absent, null and empty are the same. */
function valueOf(event: ClusterEvent, field: string): unknown {
  const value: unknown = Object.entries(event).find(([key]) => key === field)?.[1];
  const isEmpty =
    value === null ||
    value === undefined ||
    value === '' ||
    value === 0 ||
    (typeof value === 'object' && Object.keys(value).length === 0);
  return isEmpty ? undefined : value;
}

function checkNew(event: ClusterEvent, faults: Faults): void {
  if (isUnset(event.eventTime)) {
    faults.required('eventTime');
  }
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    faults.invalid('type', '', `has invalid value: ${event.type ?? ''}`);
  }
  if (!isUnset(event.deprecatedFirstTimestamp)) {
    faults.invalid('firstTimestamp', '', 'needs to be unset');
  }
  if (!isUnset(event.deprecatedLastTimestamp)) {
    faults.invalid('lastTimestamp', '', 'needs to be unset');
  }
  if ((event.deprecatedCount ?? 0) !== 0) {
    faults.invalid('count', '', 'needs to be unset');
  }
  const { component = '', host = '' } = event.deprecatedSource ?? {};
  if (component !== '' || host !== '') {
    faults.invalid('source', '', 'needs to be unset');
  }
  checkSeries(event, faults);
}

function checkSeries({ series }: ClusterEvent, faults: Faults): void {
  if (series === undefined || series === null) {
    return;
  }
  if (series.count < 2) {
    faults.invalid('series.count', '', 'should be at least 2');
  }
  if (isUnset(series.lastObservedTime)) {
    faults.required('series.lastObservedTime', 'needs to be set');
  }
}

function checkCommon(event: ClusterEvent, fields: EventFields, faults: Faults): void {
  const namespace = event.metadata.namespace ?? '';
  const about = event.regarding?.namespace ?? '';
  if (isUnset(event.eventTime)) {
    const isMeant = about === '' ? namespace === '' || namespace === 'default' : namespace === about;
    if (!isMeant) {
      faults.invalid('involvedObject.namespace', about, 'does not match event.namespace');
    }
  } else {
    if (about === '' && !OF_ALL.has(namespace)) {
      faults.invalid('involvedObject.namespace', about, 'does not match event.namespace');
    }
    checkReporter(event, fields, faults);
    checkText(event.action, 'action', faults);
    checkText(event.reason, 'reason', faults);
    if (Buffer.byteLength(event.note ?? '') > NOTE_BYTES_MAX) {
      faults.invalid('message', '', `can have at most ${NOTE_BYTES_MAX} characters`);
    }
  }
}

function checkReporter(event: ClusterEvent, fields: EventFields, faults: Faults): void {
  const controller = fields === 'events' ? 'reportingController' : 'reportingComponent';
  if ((event.reportingController ?? '') === '') {
    faults.required(controller);
  }
  const problem = qualifiedNameProblem(event.reportingController ?? '');
  if (problem !== undefined) {
    faults.invalid(controller, event.reportingController ?? '', problem);
  }
  checkText(event.reportingInstance, 'reportingInstance', faults);
}

function checkText(text: string | undefined, field: string, faults: Faults): void {
  if (text === undefined || text === '') {
    faults.required(field);
  } else if (text.length > TEXT_BYTES_MAX || Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    faults.invalid(field, '', `can have at most ${TEXT_BYTES_MAX} characters`);
  }
}

function checkMeta({ name, namespace, labels, annotations }: ObjectMeta, faults: Faults): void {
  if (name === undefined || name === '') {
    faults.required('metadata.name', 'name or generateName is required');
  } else {
    const problem = subdomainProblem(name);
    if (problem !== undefined) {
      faults.invalid('metadata.name', name, problem);
    }
  }
  const problem = namespaceProblem(namespace ?? '');
  if (problem !== undefined) {
    faults.invalid('metadata.namespace', namespace ?? '', problem);
  }
  if (labels !== undefined) {
    checkLabels(labels, faults);
  }
  if (annotations !== undefined) {
    checkAnnotations(annotations, faults);
  }
}

function checkLabels(labels: Readonly<Record<string, string>>, faults: Faults): void {
  for (const [key, value] of Object.entries(labels)) {
    const [ofKey, ofValue] = [qualifiedNameProblem(key), labelValueProblem(value)];
    if (ofKey !== undefined) {
      faults.invalid('metadata.labels', key, ofKey);
    }
    if (ofValue !== undefined) {
      faults.invalid('metadata.labels', value, ofValue);
    }
  }
}

function checkAnnotations(annotations: Readonly<Record<string, string>>, faults: Faults): void {
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    const problem = qualifiedNameProblem(key.toLowerCase());
    if (problem !== undefined) {
      faults.invalid('metadata.annotations', key, problem);
    }
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > ANNOTATION_BYTES_MAX) {
    faults.tooLong('metadata.annotations', `may not be more than ${ANNOTATION_BYTES_MAX} bytes`);
  }
}

function isUnset(time: string | null | undefined): boolean {
  return time === undefined || time === null || time === '' || time.startsWith('0001-01-01T00:00:00');
}

function nameOf({ metadata }: ClusterEvent): string {
  return metadata.name ?? '';
}

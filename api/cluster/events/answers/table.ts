import { unreachable } from '../../../../daemon/base/errors.ts';
import type { ClusterEvent, StoredEvent } from '../../../types/cluster/events.ts';
import { refuse } from '../parameters.ts';
import type { EventVersion } from '../version.ts';

/** Kubernetes: what of the object stands beside each row. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export function includeObject(query: URLSearchParams): IncludeObject {
  const text = query.get('includeObject') ?? '';
  switch (text) {
    case '':
      return 'Metadata';
    case 'None':
    case 'Metadata':
    case 'Object':
      return text;
    default:
      return refuse('includeObject', text, 'must be None, Metadata or Object');
  }
}

const COLUMNS = [
  column('Last Seen', 'string', 'Time this event was last observed.', 0),
  column('Type', 'string', 'Type of this event (Normal, Warning), new types could be added in the future', 0),
  column('Reason', 'string', 'Why the action was taken.', 0),
  column('Object', 'string', 'What this event is about.', 0),
  column('Subobject', 'string', 'Part of the object that this event is about.', 1),
  column('Source', 'string', 'Who reports this event.', 1),
  column('Message', 'string', 'A human-readable description of the status of this operation.', 0),
  column('First Seen', 'string', 'Time this event was first observed.', 1),
  column('Count', 'string', 'The number of times this event has occurred.', 1),
  column('Name', 'string', 'Name must be unique within a namespace.', 1),
];

function column(name: string, type: string, description: string, priority: number): object {
  return { name, type, format: name === 'Name' ? 'name' : '', description, priority };
}

/** JSON that opens a table, up to its first row; `metadata` is JSON. */
export function tableHead(metadata: string): string {
  return (
    `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${metadata},` +
    `"columnDefinitions":${JSON.stringify(COLUMNS)},"rows":[`
  );
}

export const TABLE_END = ']}\n';

/** JSON of one row. `nowMs`: ages are told from there. */
export function tableRow(
  stored: StoredEvent,
  version: EventVersion,
  { include, nowMs }: { include: IncludeObject; nowMs: number },
): string {
  // The engine's own text.
  const event = JSON.parse(stored.text) as ClusterEvent;
  const cells = JSON.stringify(cellsOf(event, nowMs));
  switch (include) {
    case 'None':
      return `{"cells":${cells},"object":null}`;
    case 'Object':
      return `{"cells":${cells},"object":${version.text(stored)}}`;
    case 'Metadata': {
      const object = {
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: event.metadata,
      };
      return `{"cells":${cells},"object":${JSON.stringify(object)}}`;
    }
    default:
      return unreachable(include);
  }
}

/** A table of one row, for a watch or a read. */
export function tableOfOne(
  stored: StoredEvent,
  version: EventVersion,
  { include, nowMs, hasColumns }: { include: IncludeObject; nowMs: number; hasColumns: boolean },
): string {
  const metadata = JSON.stringify({ resourceVersion: String(stored.revision) });
  const head = hasColumns
    ? tableHead(metadata)
    : `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":${metadata},"columnDefinitions":null,"rows":[`;
  return `${head}${tableRow(stored, version, { include, nowMs })}]}`;
}

function cellsOf(event: ClusterEvent, nowMs: number): string[] {
  const { regarding = {}, deprecatedSource: source = {}, series, metadata } = event;
  const firstSeen = event.deprecatedFirstTimestamp ?? event.eventTime ?? metadata.creationTimestamp ?? '';
  const lastSeen = series?.lastObservedTime ?? event.deprecatedLastTimestamp ?? firstSeen;
  const count = series?.count ?? event.deprecatedCount ?? 0;
  return [
    age(lastSeen, nowMs),
    event.type ?? '',
    event.reason ?? '',
    `${(regarding.kind ?? '').toLowerCase()}/${regarding.name ?? ''}`,
    regarding.fieldPath ?? '',
    sourceOf(source.component || event.reportingController, source.host || event.reportingInstance),
    (event.note ?? '').trim(),
    age(firstSeen, nowMs),
    String(count === 0 ? 1 : count),
    metadata.name ?? '',
  ];
}

function sourceOf(component = '', host = ''): string {
  return [component, host].filter((part) => part !== '').join(', ');
}

/** Kubernetes: `HumanDuration`, `<unknown>` for no time. */
function age(time: string, nowMs: number): string {
  const atMs = Date.parse(time);
  if (Number.isNaN(atMs)) {
    return '<unknown>';
  }
  const seconds = Math.floor((nowMs - atMs) / 1_000);
  if (seconds < -1) {
    return '<invalid>';
  }
  return humanDuration(Math.max(0, seconds));
}

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400];

function humanDuration(seconds: number): string {
  if (seconds < 2 * MINUTE) {
    return `${seconds}s`;
  }
  if (seconds < 10 * MINUTE) {
    return parts(seconds, MINUTE, 'm', 1, 's');
  }
  if (seconds < 3 * HOUR) {
    return `${Math.floor(seconds / MINUTE)}m`;
  }
  if (seconds < 8 * HOUR) {
    return parts(seconds, HOUR, 'h', MINUTE, 'm');
  }
  if (seconds < 2 * DAY) {
    return `${Math.floor(seconds / HOUR)}h`;
  }
  return seconds < 8 * DAY ? parts(seconds, DAY, 'd', HOUR, 'h') : `${Math.floor(seconds / DAY)}d`;
}

function parts(seconds: number, unit: number, name: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % unit) / small);
  return `${Math.floor(seconds / unit)}${name}${rest === 0 ? '' : `${rest}${smallName}`}`;
}

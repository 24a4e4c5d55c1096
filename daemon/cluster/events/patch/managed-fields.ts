import { isDeepStrictEqual } from 'node:util';
import type { ClusterEvent, ManagedFields } from '../../../../api/types/cluster/events.ts';
import { ownedByOthers, type Cause } from '../problems.ts';

/** A field by the steps that lead to it: `metadata`, `labels`, `app`. */
type Path = readonly string[];

/** Fields that have an owner for each field in them; all others have one as a whole. */
const GRANULAR = new Set([
  'metadata',
  'series',
  'deprecatedSource',
  'metadata.labels',
  'metadata.annotations',
]);

/** What a client does not own. */
const OF_SERVER = new Set([
  'apiVersion',
  'kind',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.resourceVersion',
  'metadata.creationTimestamp',
  'metadata.generation',
  'metadata.generateName',
  'metadata.managedFields',
  'metadata.selfLink',
  'metadata.deletionTimestamp',
  'metadata.deletionGracePeriodSeconds',
]);

export interface Applied {
  event: ClusterEvent;
  manager: string;
  isForced: boolean;
  /** RFC 3339, in seconds. */
  now: string;
}

/**
 * Kubernetes: server-side apply. What the manager applies becomes its own; what it owned and does not apply any more
 * goes, unless somebody else owns it. Pure. Throws conflict that names the owners of fields it would change.
 */
export function applyFields(current: ClusterEvent, { event, manager, isForced, now }: Applied): ClusterEvent {
  const applied = pathsOf(event);
  const entries = (current.metadata.managedFields ?? []).map(readEntry);
  const own = entries.find((entry) => entry.manager === manager && entry.operation === 'Apply');
  const others = entries.filter((entry) => entry !== own);
  const taken = new Set(
    [...applied]
      .filter(([key, path]) =>
        others.some(
          ({ paths }) => paths.has(key) && !isDeepStrictEqual(valueAt(current, path), valueAt(event, path)),
        ),
      )
      .map(([key]) => key),
  );
  if (taken.size > 0 && !isForced) {
    throw ownedByOthers(current.metadata.name ?? '', conflictsOf(taken, others));
  }
  const left = others.map((entry) => without(entry, taken));
  let result: ClusterEvent = current;
  for (const [key, path] of own?.paths ?? []) {
    if (!applied.has(key) && !left.some(({ paths }) => paths.has(key))) {
      result = withValue(result, path, undefined);
    }
  }
  for (const path of applied.values()) {
    result = withValue(result, path, valueAt(event, path));
  }
  const mine = {
    manager,
    operation: 'Apply',
    time: own !== undefined && isSame(own.paths, applied) ? own.time : now,
  };
  return withEntries(result, [...left, { ...mine, paths: applied }]);
}

/** Who has changed what, after a change of another kind. `manager` undefined = fields lose their owners only. */
export function noteUpdate(
  before: ClusterEvent | undefined,
  after: ClusterEvent,
  { manager, now }: { manager: string | undefined; now: string },
): ClusterEvent {
  const entries = (before?.metadata.managedFields ?? []).map(readEntry);
  if (entries.length === 0 && manager === undefined) {
    return after;
  }
  const [was, is] = [before === undefined ? new Map<string, Path>() : pathsOf(before), pathsOf(after)];
  const changed = new Map(
    [...is].filter(
      ([key, path]) =>
        before === undefined ||
        !was.has(key) ||
        !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)),
    ),
  );
  const lost = new Set([...changed.keys(), ...[...was.keys()].filter((key) => !is.has(key))]);
  if (lost.size === 0) {
    return withEntries(after, entries);
  }
  const isOwn = (entry: Entry): boolean => entry.manager === manager && entry.operation === 'Update';
  const own = entries.find(isOwn);
  const others = entries.filter((entry) => entry !== own).map((entry) => without(entry, lost));
  if (manager === undefined || changed.size === 0) {
    return withEntries(after, [...others, ...(own === undefined ? [] : [without(own, lost)])]);
  }
  const paths = new Map([...(own === undefined ? [] : without(own, lost).paths), ...changed]);
  return withEntries(after, [...others, { manager, operation: 'Update', time: now, paths }]);
}

interface Entry {
  manager: string;
  operation: string;
  time: string;
  /** By their steps, joined. */
  paths: ReadonlyMap<string, Path>;
}

function conflictsOf(taken: ReadonlySet<string>, others: readonly Entry[]): Cause[] {
  return [...taken].flatMap((key) =>
    others
      .filter(({ paths }) => paths.has(key))
      .map(({ manager, paths }) => ({
        reason: 'FieldManagerConflict',
        message: `conflict with ${JSON.stringify(manager)} using events.k8s.io/v1`,
        field: (paths.get(key) ?? []).map((step) => `.${step}`).join(''),
      })),
  );
}

function without(entry: Entry, keys: ReadonlySet<string>): Entry {
  return { ...entry, paths: new Map([...entry.paths].filter(([key]) => !keys.has(key))) };
}

function isSame(left: ReadonlyMap<string, Path>, right: ReadonlyMap<string, Path>): boolean {
  return left.size === right.size && [...left.keys()].every((key) => right.has(key));
}

/** Every field of an event that a client may own. */
function pathsOf(event: ClusterEvent): Map<string, Path> {
  const paths = new Map<string, Path>();
  collect(event, [], paths);
  return paths;
}

function collect(value: object, above: Path, paths: Map<string, Path>): void {
  for (const [name, field] of Object.entries(value)) {
    const path = [...above, name];
    const text = path.join('.');
    if (OF_SERVER.has(text) || field === undefined || field === null) {
      continue;
    }
    if (GRANULAR.has(text) && typeof field === 'object') {
      collect(field, path, paths);
    } else {
      paths.set(path.join('\0'), path);
    }
  }
}

function valueAt(event: ClusterEvent, path: Path): unknown {
  let value: unknown = event;
  for (const step of path) {
    value =
      typeof value === 'object' && value !== null
        ? Object.entries(value).find(([key]) => key === step)?.[1]
        : undefined;
  }
  return value;
}

/** A copy with another value at one place; undefined = without it. */
function withValue(event: ClusterEvent, path: Path, value: unknown): ClusterEvent {
  // A path of `pathsOf` leads through objects only.
  return withField(event, path, value) as ClusterEvent;
}

function withField(target: object, [step = '', ...rest]: Path, value: unknown): object {
  const fields = new Map<string, unknown>(Object.entries(target));
  const inner = rest.length === 0 ? value : withField(Object(fields.get(step) ?? {}), rest, value);
  if (inner === undefined) {
    fields.delete(step);
  } else {
    fields.set(step, inner);
  }
  return Object.fromEntries(fields);
}

function withEntries(event: ClusterEvent, entries: readonly Entry[]): ClusterEvent {
  const managedFields = entries.filter(({ paths }) => paths.size > 0).map(writeEntry);
  const { managedFields: _, ...metadata } = event.metadata;
  return { ...event, metadata: { ...metadata, ...(managedFields.length > 0 && { managedFields }) } };
}

function readEntry({ manager = '', operation = '', time = '', fieldsV1 = {} }: ManagedFields): Entry {
  const paths = new Map<string, Path>();
  readFields(fieldsV1, [], paths);
  return { manager, operation, time, paths };
}

function readFields(fields: object, above: Path, paths: Map<string, Path>): void {
  for (const [name, below] of Object.entries(fields)) {
    const path = [...above, name.replace(/^f:/, '')];
    if (typeof below === 'object' && below !== null && Object.keys(below).length > 0) {
      readFields(below, path, paths);
    } else {
      paths.set(path.join('\0'), path);
    }
  }
}

function writeEntry({ manager, operation, time, paths }: Entry): ManagedFields {
  let fieldsV1: object = {};
  for (const path of paths.values()) {
    fieldsV1 = withField(
      fieldsV1,
      path.map((step) => `f:${step}`),
      {},
    );
  }
  return { manager, operation, apiVersion: 'events.k8s.io/v1', time, fieldsType: 'FieldsV1', fieldsV1 };
}

import { EngineError } from '../../../daemon/base/errors.ts';
import type {
  ClusterEvent,
  EventPatchKind,
  EventPreconditions,
  EventWrite,
} from '../../types/cluster/events.ts';
import type { ClusterPorts } from '../../types/cluster/ports.ts';
import type { ClusterResult, ClusterRoute, KnownRequest } from '../family.ts';
import { answerList } from './answers/list.ts';
import { answerOne } from './answers/one.ts';
import { answerWatch } from './answers/watch.ts';
import {
  eventOf,
  mediaType,
  readJsonBody,
  readObject,
  readOptional,
  readYamlBody,
  unsupported,
} from './decode/body.ts';
import { jsonResult } from './discovery.ts';
import {
  badRequest,
  fieldManager,
  fieldValidation,
  flag,
  isDryRun,
  selectionOf,
  wholeNumber,
} from './parameters.ts';
import { CORE_V1, EVENTS_V1, type EventVersion } from './version.ts';

export const eventRoutes: readonly ClusterRoute[] = [...routesOf(EVENTS_V1), ...routesOf(CORE_V1)];

function routesOf(version: EventVersion): ClusterRoute[] {
  const all = `${version.prefix}/events`;
  const some = `${version.prefix}/namespaces/:namespace/events`;
  const one = `${some}/:name`;
  const id = (verb: string): string => `${version.fields}.${verb}`;
  return [
    { id: id('list-all'), method: 'GET', path: all, handler: (...asked) => list(version, ...asked) },
    { id: id('list'), method: 'GET', path: some, handler: (...asked) => list(version, ...asked) },
    { id: id('get'), method: 'GET', path: one, handler: (...asked) => get(version, ...asked) },
    { id: id('create'), method: 'POST', path: some, handler: (...asked) => create(version, ...asked) },
    { id: id('replace'), method: 'PUT', path: one, handler: (...asked) => replace(version, ...asked) },
    { id: id('patch'), method: 'PATCH', path: one, handler: (...asked) => patch(version, ...asked) },
    { id: id('remove'), method: 'DELETE', path: one, handler: (...asked) => remove(version, ...asked) },
    {
      id: id('remove-all'),
      method: 'DELETE',
      path: some,
      handler: (...asked) => removeAll(version, ...asked),
    },
  ];
}

function list(version: EventVersion, request: KnownRequest, ports: ClusterPorts): ClusterResult {
  return flag(request.query, 'watch')
    ? answerWatch(request, ports.events(), version)
    : answerList(request, ports.events(), version);
}

function get(version: EventVersion, request: KnownRequest, ports: ClusterPorts): ClusterResult {
  const { namespace = '', name = '' } = request.params;
  return answerOne(request, ports.events().get(namespace, name), { version });
}

async function create(
  version: EventVersion,
  request: KnownRequest,
  ports: ClusterPorts,
): Promise<ClusterResult> {
  refuseReader(request, 'create');
  const { query, req } = request;
  const validation = fieldValidation(query);
  const write = writeOf(request, version);
  const { event, warnings } = eventOf(await readObject(req, validation), version, validation);
  const made = await ports.events().create(placed(event, request), write);
  return answerOne(request, made, { version, status: 201, warnings });
}

async function replace(
  version: EventVersion,
  request: KnownRequest,
  ports: ClusterPorts,
): Promise<ClusterResult> {
  refuseReader(request, 'update');
  const { query, req } = request;
  const validation = fieldValidation(query);
  const write = writeOf(request, version);
  const { event: given, warnings } = eventOf(await readObject(req, validation), version, validation);
  const { event, isNew } = await ports.events().replace(named(given, request), write);
  return answerOne(request, event, { version, status: isNew ? 201 : 200, warnings });
}

const PATCHES: ReadonlyMap<string, EventPatchKind> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
  ['application/apply-patch+yaml', 'apply'],
]);

async function patch(
  version: EventVersion,
  request: KnownRequest,
  ports: ClusterPorts,
): Promise<ClusterResult> {
  refuseReader(request, 'patch');
  const { query, req, params } = request;
  const validation = fieldValidation(query);
  const write = writeOf(request, version);
  const kind = PATCHES.get(mediaType(req));
  if (kind === undefined) {
    throw unsupported(mediaType(req), [...PATCHES.keys()]);
  }
  const isForced = flag(query, 'force');
  refuseApplyOptions(kind, query, write);
  const body = kind === 'apply' ? await readYamlBody(req) : await readJsonBody(req, validation);
  const warnings = new Set<string>();
  const check = (object: ClusterEvent): ClusterEvent => {
    const checked = eventOf({ value: object, duplicates: body.duplicates }, EVENTS_V1, validation);
    checked.warnings.forEach((warning) => warnings.add(warning));
    return checked.event;
  };
  const { namespace = '', name = '' } = params;
  const { event, isNew } = await ports.events().patch(namespace, name, {
    ...write,
    kind,
    isForced,
    body: version.renamed(body.value, kind),
    check,
  });
  return answerOne(request, event, { version, status: isNew ? 201 : 200, warnings: [...warnings] });
}

async function remove(
  version: EventVersion,
  request: KnownRequest,
  ports: ClusterPorts,
): Promise<ClusterResult> {
  refuseReader(request, 'delete');
  const { namespace = '', name = '' } = request.params;
  const { isDry, preconditions } = await deleteOptions(request);
  const { name: gone } = await ports.events().remove(namespace, name, { isDryRun: isDry, preconditions });
  return jsonResult(200, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: gone, group: version.fields === 'events' ? 'events.k8s.io' : '', kind: 'events' },
  });
}

async function removeAll(
  version: EventVersion,
  request: KnownRequest,
  ports: ClusterPorts,
): Promise<ClusterResult> {
  refuseReader(request, 'deletecollection');
  const { isDry } = await deleteOptions(request);
  const limit = wholeNumber(request.query, 'limit') || undefined;
  const selection = selectionOf(request, version);
  const gone = await ports
    .events()
    .removeAll(selection, { isDryRun: isDry, ...(limit !== undefined && { limit }) });
  const items = gone.items.map((event) => version.text(event)).join(',');
  const metadata = JSON.stringify({ resourceVersion: String(gone.revision) });
  return {
    kind: 'answer',
    status: 200,
    body: `{"kind":"EventList","apiVersion":"${version.apiVersion}","metadata":${metadata},"items":[${items}]}`,
  };
}

const POLICIES: ReadonlySet<unknown> = new Set(['Orphan', 'Background', 'Foreground']);

/** Of the query and of a body, which may be missing. Throws invalid_argument. */
async function deleteOptions({
  query,
  req,
}: KnownRequest): Promise<{ isDry: boolean; preconditions: EventPreconditions }> {
  const body = await readOptional(req);
  const options: Record<string, unknown> = { ...Object(body ?? {}) };
  const known = new URLSearchParams(query);
  const listed: unknown[] = Array.isArray(options['dryRun']) ? options['dryRun'] : [];
  listed.forEach((value) => known.append('dryRun', String(value)));
  const policy: unknown = options['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  if (policy !== undefined && !POLICIES.has(policy)) {
    throw badRequest(`propagationPolicy: Unsupported value: ${JSON.stringify(policy)}`);
  }
  wholeNumber(query, 'gracePeriodSeconds');
  flag(query, 'orphanDependents');
  const { uid, resourceVersion }: { uid?: unknown; resourceVersion?: unknown } = {
    ...Object(options['preconditions'] ?? {}),
  };
  return {
    isDry: isDryRun(known),
    preconditions: {
      ...(typeof uid === 'string' && { uid }),
      ...(typeof resourceVersion === 'string' && { resourceVersion }),
    },
  };
}

function writeOf({ query }: KnownRequest, { fields }: EventVersion): EventWrite {
  return { fields, isDryRun: isDryRun(query), manager: fieldManager(query) };
}

function refuseApplyOptions(kind: EventPatchKind, query: URLSearchParams, { manager }: EventWrite): void {
  if (kind === 'apply' && manager === undefined) {
    throw invalidOptions('fieldManager', 'Required value: is required for apply patch', 'FieldValueRequired');
  }
  if (kind !== 'apply' && query.has('force')) {
    throw invalidOptions(
      'force',
      'Forbidden: may not be specified for non-apply patch',
      'FieldValueForbidden',
    );
  }
}

function invalidOptions(field: string, message: string, reason: string): EngineError {
  return new EngineError('invalid_argument', `PatchOptions.meta.k8s.io "" is invalid: ${field}: ${message}`, {
    details: {
      reason: 'Invalid',
      object: { group: 'meta.k8s.io', kind: 'PatchOptions' },
      causes: [{ reason, message, field }],
    },
  });
}

/** In the namespace of the path, which the object may name too. */
function placed(event: ClusterEvent, { params }: KnownRequest): ClusterEvent {
  const { namespace = '' } = params;
  const given = event.metadata.namespace ?? '';
  if (given !== '' && given !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return { ...event, metadata: { ...event.metadata, namespace } };
}

/** As the path names it. */
function named(event: ClusterEvent, request: KnownRequest): ClusterEvent {
  const { name = '' } = request.params;
  const given = event.metadata.name ?? '';
  if (given !== name) {
    throw badRequest(
      given === ''
        ? 'name must be provided'
        : `the name of the object (${given}) does not match the name on the URL (${name})`,
    );
  }
  return placed(event, request);
}

function refuseReader({ caller, params }: KnownRequest, verb: string): void {
  if (!caller.mayWrite) {
    const { name = '', namespace = '' } = params;
    throw new EngineError(
      'forbidden',
      `events.events.k8s.io ${name === '' ? '' : `"${name}" `}is forbidden: User "${caller.name}" cannot ${verb} ` +
        `resource "events" in API group "events.k8s.io" in the namespace "${namespace}"`,
      { details: { object: { ...(name !== '' && { name }), group: 'events.k8s.io', kind: 'events' } } },
    );
  }
}

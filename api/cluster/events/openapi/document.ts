import { createHash } from 'node:crypto';
import { unreachable } from '../../../../daemon/base/errors.ts';
import type { FieldType, Fields } from '../decode/schema.ts';
import type { EventVersion } from '../version.ts';

/** What each operation does (Kubernetes: `x-kubernetes-action`). */
const ACTIONS = {
  list: { method: 'get', title: 'list or watch events' },
  create: { method: 'post', title: 'create an event' },
  deletecollection: { method: 'delete', title: 'delete a collection of events' },
  get: { method: 'get', title: 'read an event' },
  put: { method: 'put', title: 'replace an event' },
  patch: { method: 'patch', title: 'change a part of an event' },
  delete: { method: 'delete', title: 'delete an event' },
} as const;

type Action = keyof typeof ACTIONS;

const WRITE = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'];
const LIST = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'pretty',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
];
const DELETE = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy', 'pretty'];

const PARAMETERS: Readonly<Record<Action, readonly string[]>> = {
  list: LIST,
  create: WRITE,
  deletecollection: [
    ...LIST.filter((name) => name !== 'watch'),
    ...DELETE.filter((name) => name !== 'pretty'),
  ],
  get: ['pretty'],
  put: WRITE,
  patch: [...WRITE, 'force'],
  delete: DELETE,
};

const BOOLEANS = new Set(['allowWatchBookmarks', 'sendInitialEvents', 'watch', 'force', 'orphanDependents']);
const INTEGERS = new Set(['limit', 'timeoutSeconds', 'gracePeriodSeconds']);

/** How the two versions of OpenAPI say the same. */
interface Dialect {
  /** Where schemas are: `#/components/schemas/`. */
  schemas: string;
  parameter(name: string, place: 'query' | 'path', type: string): object;
  /** Parameters that are the body; in version 3 it is none. */
  body(action: Action, schema: string): readonly object[];
  operation(action: Action, schema: string): object;
}

const V3: Dialect = {
  schemas: '#/components/schemas/',
  parameter: (name, place, type) => ({ name, in: place, ...isNeeded(place), schema: { type } }),
  body: () => [],
  operation: (action, schema) => ({
    ...(hasBody(action) ? { requestBody: { content: { '*/*': { schema: { $ref: schema } } } } } : {}),
    responses: {
      200: { description: 'OK', content: { 'application/json': { schema: { $ref: schema } } } },
      401: { description: 'Unauthorized' },
    },
  }),
};

const V2: Dialect = {
  schemas: '#/definitions/',
  parameter: (name, place, type) => ({ name, in: place, ...isNeeded(place), type }),
  body: (action, schema) =>
    hasBody(action) ? [{ name: 'body', in: 'body', required: true, schema: { $ref: schema } }] : [],
  operation: (_action, schema) => ({
    produces: ['application/json'],
    responses: {
      200: { description: 'OK', schema: { $ref: schema } },
      401: { description: 'Unauthorized' },
    },
  }),
};

function hasBody(action: Action): boolean {
  return action === 'create' || action === 'put' || action === 'patch';
}

function isNeeded(place: 'query' | 'path'): object {
  return place === 'path' ? { required: true } : {};
}

const INFO = { title: 'Berth, the cluster interface', version: 'v1.32.0' };

/** OpenAPI 3 of one version of events. */
export function documentV3(version: EventVersion): object {
  return {
    openapi: '3.0.0',
    info: INFO,
    paths: pathsOf(version, V3),
    components: { schemas: schemasOf(version, V3) },
  };
}

/** OpenAPI 2 of all versions. */
export function documentV2(versions: readonly EventVersion[]): object {
  return {
    swagger: '2.0',
    info: INFO,
    paths: Object.assign({}, ...versions.map((version) => pathsOf(version, V2))),
    definitions: Object.assign({}, ...versions.map((version) => schemasOf(version, V2))),
  };
}

export function hashOf(document: object): string {
  return createHash('sha256').update(JSON.stringify(document)).digest('hex').toUpperCase();
}

function groupOf({ fields }: EventVersion): string {
  return fields === 'events' ? 'events.k8s.io' : '';
}

function kindOf(version: EventVersion, kind: string): object {
  return { group: groupOf(version), version: 'v1', kind };
}

function schemaName({ fields }: EventVersion, title: string): string {
  return title === 'ObjectMeta' || title === 'OwnerReference' || title === 'ManagedFieldsEntry'
    ? `io.k8s.apimachinery.pkg.apis.meta.v1.${title}`
    : `io.k8s.api.${fields}.v1.${title}`;
}

function pathsOf(version: EventVersion, dialect: Dialect): object {
  const { prefix } = version;
  return {
    [`${prefix}/events`]: itemOf(version, dialect, { actions: ['list'], names: [] }),
    [`${prefix}/namespaces/{namespace}/events`]: itemOf(version, dialect, {
      actions: ['list', 'create', 'deletecollection'],
      names: ['namespace'],
    }),
    [`${prefix}/namespaces/{namespace}/events/{name}`]: itemOf(version, dialect, {
      actions: ['get', 'put', 'patch', 'delete'],
      names: ['name', 'namespace'],
    }),
  };
}

function itemOf(
  version: EventVersion,
  dialect: Dialect,
  { actions, names }: { actions: readonly Action[]; names: readonly string[] },
): object {
  const schema = dialect.schemas + schemaName(version, 'Event');
  const operations = actions.map((action) => [
    ACTIONS[action].method,
    {
      description: ACTIONS[action].title,
      parameters: [
        ...dialect.body(action, schema),
        ...PARAMETERS[action].map((name) => dialect.parameter(name, 'query', typeOf(name))),
      ],
      ...dialect.operation(action, schema),
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': kindOf(version, 'Event'),
    },
  ]);
  return {
    ...Object.fromEntries(operations),
    parameters: names.map((name) => dialect.parameter(name, 'path', 'string')),
  };
}

function typeOf(parameter: string): string {
  return BOOLEANS.has(parameter) ? 'boolean' : INTEGERS.has(parameter) ? 'integer' : 'string';
}

function schemasOf(version: EventVersion, dialect: Dialect): object {
  const schemas = new Map<string, object>();
  const { title, fields } = version.schema;
  collect(version, dialect, schemas, { title, fields });
  const name = schemaName(version, title);
  schemas.set(name, { ...schemas.get(name), 'x-kubernetes-group-version-kind': [kindOf(version, 'Event')] });
  return Object.fromEntries(schemas);
}

function collect(
  version: EventVersion,
  dialect: Dialect,
  schemas: Map<string, object>,
  { title, fields }: { title: string; fields: Fields },
): void {
  const name = schemaName(version, title);
  if (schemas.has(name)) {
    return;
  }
  schemas.set(name, {});
  const properties = Object.entries(fields).map(([field, type]) => [
    field,
    propertyOf(type, (object) => {
      collect(version, dialect, schemas, object);
      return { $ref: dialect.schemas + schemaName(version, object.title) };
    }),
  ]);
  schemas.set(name, { type: 'object', properties: Object.fromEntries(properties) });
}

function propertyOf(type: FieldType, refer: (object: { title: string; fields: Fields }) => object): object {
  switch (type.kind) {
    case 'string':
      return { type: 'string' };
    case 'boolean':
      return { type: 'boolean' };
    case 'int32':
    case 'int64':
      return { type: 'integer', format: type.kind };
    case 'time':
    case 'microtime':
      return { type: 'string', format: 'date-time' };
    case 'map':
      return { type: 'object', additionalProperties: { type: 'string' } };
    case 'any':
      return { type: 'object' };
    case 'list':
      return { type: 'array', items: propertyOf(type.of, refer) };
    case 'object':
      return refer(type);
    default:
      return unreachable(type);
  }
}

import { EngineError } from '../../../../daemon/base/errors.ts';
import type { ClusterRoute } from '../../family.ts';
import { jsonResult } from '../discovery.ts';
import { CORE_V1, EVENTS_V1, type EventVersion } from '../version.ts';
import { documentV2, documentV3, hashOf } from './document.ts';
import { protobufOf } from './protobuf.ts';

const VERSIONS: readonly EventVersion[] = [EVENTS_V1, CORE_V1];

/** What kubectl reads to know which parameters and fields there are. */
export const openApiRoutes: readonly ClusterRoute[] = [
  { id: 'openapi.index', method: 'GET', path: '/openapi/v3', handler: () => jsonResult(200, index()) },
  ...VERSIONS.map((version): ClusterRoute => ({
    id: `openapi.v3.${version.fields}`,
    method: 'GET',
    path: `/openapi/v3${version.prefix}`,
    handler: () => jsonResult(200, documentV3(version)),
  })),
  {
    id: 'openapi.v2',
    method: 'GET',
    path: '/openapi/v2',
    handler: ({ req }) => {
      const type = typeOf(req.headers.accept);
      const document = documentV2(VERSIONS);
      return type === 'application/json'
        ? jsonResult(200, document)
        : { kind: 'answer', status: 200, body: protobufOf(document), contentType: type };
    },
  },
];

function index(): object {
  const paths = VERSIONS.map((version) => [
    version.prefix.slice(1),
    { serverRelativeURL: `/openapi/v3${version.prefix}?hash=${hashOf(documentV3(version))}` },
  ]);
  return { paths: Object.fromEntries(paths) };
}

/** Clients before 1.24 read nothing but protobuf. They ask by the older name, which a header must not have (`@`). */
const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const ASKED_AS = new Set([PROTOBUF, 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf']);
const JSON_TYPES = new Set(['application/json', 'application/*', '*/*']);

/** The first of the header's types that is served. Throws for a client that takes none of them (406). */
function typeOf(accept = '*/*'): string {
  for (const entry of accept.split(',')) {
    const type = (entry.split(';')[0] ?? '').trim().toLowerCase();
    if (ASKED_AS.has(type)) {
      return PROTOBUF;
    }
    if (JSON_TYPES.has(type)) {
      return 'application/json';
    }
  }
  throw new EngineError(
    'invalid_argument',
    `only the following media types are accepted: application/json, ${PROTOBUF}`,
    { details: { reason: 'NotAcceptable' } },
  );
}

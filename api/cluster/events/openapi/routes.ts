import { EngineError } from '../../../../daemon/base/errors.ts';
import type { ClusterRoute } from '../../family.ts';
import { jsonResult } from '../discovery.ts';
import { CORE_V1, EVENTS_V1, type EventVersion } from '../version.ts';
import { documentV2, documentV3, hashOf } from './document.ts';

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
      refuseProtobuf(req.headers.accept);
      return jsonResult(200, documentV2(VERSIONS));
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

/** Clients before 1.24 read nothing but protobuf; they are to be run with `--validate=false`. */
function refuseProtobuf(accept: string | undefined): void {
  if (accept !== undefined && !/application\/(json|\*)|\*\/\*/.test(accept)) {
    throw new EngineError(
      'invalid_argument',
      'only the following media types are accepted: application/json',
      {
        details: { reason: 'NotAcceptable' },
      },
    );
  }
}

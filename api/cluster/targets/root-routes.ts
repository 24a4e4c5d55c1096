import { EngineError } from '../../../daemon/base/errors.ts';
import type { ClusterTargetsPort } from '../../types/cluster/targets.ts';
import type { ClusterRoute, KnownRequest } from '../family.ts';
import { bodyOf, jsonOf } from './body.ts';
import { requestId } from './routes.ts';

type Root = (request: KnownRequest, targets: ClusterTargetsPort) => object | Promise<object>;

/** Secrets go through these: they are for root alone, who is whoever opens the engine's socket. */
export const rootRoutes: readonly ClusterRoute[] = [
  route('POST', '/accesskeys', async ({ req }, { keys }) => await keys.create(jsonOf(await bodyOf(req)))),
  route('GET', '/accesskeys', (_request, { keys }) => keys.list()),
  route('DELETE', '/accesskeys/:key', ({ params }, { keys }) => keys.remove(params['key'] ?? '')),
  route(
    'POST',
    '/certificates',
    async ({ req }, { certificates }) => await certificates.import(jsonOf(await bodyOf(req))),
  ),
  route('GET', '/certificates', (_request, { certificates }) => certificates.list()),
  route('GET', '/certificates/:certificate', ({ params }, { certificates }) =>
    certificates.get(params['certificate'] ?? ''),
  ),
  route('DELETE', '/certificates/:certificate', ({ params }, { certificates }) =>
    certificates.remove(params['certificate'] ?? ''),
  ),
];

function route(method: ClusterRoute['method'], path: string, serve: Root): ClusterRoute {
  return {
    id: `targets.${method} ${path}`,
    method,
    path,
    handler: async (request, ports) => {
      if (request.credentials.entrance !== 'engine') {
        throw new EngineError(
          'forbidden',
          `${path.split('/')[1] ?? path} are made over the socket of the engine: berthd cluster`,
        );
      }
      const answer = await serve(request, ports.targets());
      const status = method === 'POST' ? 201 : 200;
      return { kind: 'answer', status, body: JSON.stringify(answer), headers: requestId() };
    },
  };
}

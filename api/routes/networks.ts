import { invalidArgument } from '../../daemon/base/errors.ts';
import { networkConnectSchema, networkCreateSchema, networkDisconnectSchema } from '../schemas/others.ts';
import type {
  NetworkConnectRequest,
  NetworkCreateRequest,
  NetworkDisconnectRequest,
} from '../types/system.ts';
import { created, empty, ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';

/** Network operations (docs: api/docs/v1.24.md section 3.7). */
export const networkRoutes: readonly ServedRoute[] = [
  route({
    id: 'network.list',
    method: 'GET',
    path: '/networks',
    alsoAt: '/networks/',
    handler: async ({ query }, { networks }) => {
      const list = await networks.list(query.filters());
      const containersOf = Object.fromEntries(list.map((network) => [network.Id, network.Containers]));
      return ok(
        list.map((network) => ({ ...network, Containers: {} })),
        containersOf,
      );
    },
  }),
  route({
    id: 'network.inspect',
    method: 'GET',
    path: '/networks/:id',
    handler: async ({ params, query }, { networks }) => {
      const verbose = query.text('verbose') ?? '';
      if (verbose !== '' && !/^(?:1|0|t|f|true|false)$/i.test(verbose)) {
        throw invalidArgument(`invalid value for verbose: ${verbose}`);
      }
      const scope = query.text('scope');
      return ok(
        await networks.inspect(params['id'] ?? '', {
          verbose: /^(?:1|t|true)$/i.test(verbose),
          ...(scope !== undefined && { scope }),
        }),
      );
    },
  }),
  route<NetworkCreateRequest>({
    id: 'network.create',
    method: 'POST',
    path: '/networks/create',
    body: { kind: 'json', schema: networkCreateSchema, empty: 'refused' },
    handler: async ({ body }, { networks }) => created(await networks.create(body)),
  }),
  route<NetworkConnectRequest>({
    id: 'network.connect',
    method: 'POST',
    path: '/networks/:id/connect',
    body: { kind: 'json', schema: networkConnectSchema, empty: 'refused' },
    handler: async ({ params, body }, { containers }) => {
      await containers.connectNetwork(params['id'] ?? '', body.Container ?? '', body.EndpointConfig ?? {});
      return empty(200);
    },
  }),
  route<NetworkDisconnectRequest>({
    id: 'network.disconnect',
    method: 'POST',
    path: '/networks/:id/disconnect',
    body: { kind: 'json', schema: networkDisconnectSchema, empty: 'refused' },
    handler: async ({ params, body }, { containers }) => {
      const force = body.Force ?? false;
      await containers.disconnectNetwork(params['id'] ?? '', body.Container ?? '', { force });
      return empty(200);
    },
  }),
  route({
    id: 'network.remove',
    method: 'DELETE',
    path: '/networks/:id',
    handler: async ({ params }, { networks }) => {
      await networks.remove(params['id'] ?? '');
      return empty(204);
    },
  }),
  route({
    id: 'network.prune',
    method: 'POST',
    path: '/networks/prune',
    handler: async ({ query }, { networks }) => ok(await networks.prune(query.filters())),
  }),
];

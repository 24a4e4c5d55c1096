import { ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';

/** Network operations (docs: api/docs/v1.24.md section 3.7). */
export const networkRoutes: readonly ServedRoute[] = [
  route({
    id: 'network.list',
    method: 'GET',
    path: '/networks',
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
    handler: async ({ params }, { networks }) => ok(await networks.inspect(params['id'] ?? '')),
  }),
];

import { registryAuth } from './registry-auth.ts';
import { ok, route } from './route.ts';
import type { ServedRoute } from './route.ts';
import { defined } from './values.ts';

/** What registries are asked, without fetching anything. */
export const registryRoutes: readonly ServedRoute[] = [
  route({
    id: 'image.search',
    method: 'GET',
    path: '/images/search',
    handler: async ({ query, header, signal }, { registries }) =>
      ok(
        await registries.search({
          term: query.text('term') ?? '',
          filters: query.filters(),
          auth: registryAuth(header('x-registry-auth')),
          signal,
          ...defined({ limit: query.int('limit') }),
        }),
      ),
  }),
  route({
    id: 'image.distribution',
    method: 'GET',
    path: '/distribution/*name/json',
    handler: async ({ params, header, signal }, { registries }) => {
      const auth = registryAuth(header('x-registry-auth'));
      return ok(await registries.distribution(params['name'] ?? '', auth, signal));
    },
  }),
];

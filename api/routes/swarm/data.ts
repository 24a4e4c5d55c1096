import { configSchema, secretSchema } from '../../schemas/swarm/data.ts';
import type { ConfigRequest } from '../../types/swarm/config.ts';
import type { SecretRequest } from '../../types/swarm/secret.ts';
import { created, empty, ok } from '../route.ts';
import type { ServedRoute } from '../route.ts';
import { versionOf } from './parameters.ts';
import { refOf, swarmRoute } from './swarm-route.ts';

/** Secrets and configs: the same operations of two kinds. */
export const dataRoutes: readonly ServedRoute[] = [...secretRoutes(), ...configRoutes()];

function secretRoutes(): ServedRoute[] {
  return [
    swarmRoute({
      id: 'secret.list',
      method: 'GET',
      path: '/secrets',
      handler: async ({ query }, swarm) => {
        const filters = query.filters();
        return ok(await swarm.secrets.list(filters));
      },
    }),
    swarmRoute<SecretRequest>({
      id: 'secret.create',
      method: 'POST',
      path: '/secrets/create',
      body: { kind: 'json', schema: secretSchema, empty: 'refused' },
      handler: async ({ body }, { secrets }) => created(await secrets.create(body)),
    }),
    swarmRoute({
      id: 'secret.inspect',
      method: 'GET',
      path: '/secrets/:id',
      handler: async (request, { secrets }) => ok(await secrets.inspect(refOf(request))),
    }),
    swarmRoute<SecretRequest>({
      id: 'secret.update',
      method: 'POST',
      path: '/secrets/:id/update',
      body: { kind: 'json', schema: secretSchema, empty: 'refused' },
      handler: async (request, swarm) => {
        const version = versionOf(request.query, 'secret');
        await swarm.secrets.update(refOf(request), version, request.body);
        return empty(200);
      },
    }),
    swarmRoute({
      id: 'secret.remove',
      method: 'DELETE',
      path: '/secrets/:id',
      handler: async (request, { secrets }) => {
        await secrets.remove(refOf(request));
        return empty(204);
      },
    }),
  ];
}

function configRoutes(): ServedRoute[] {
  return [
    swarmRoute({
      id: 'config.list',
      method: 'GET',
      path: '/configs',
      handler: async ({ query }, swarm) => {
        const filters = query.filters();
        return ok(await swarm.configs.list(filters));
      },
    }),
    swarmRoute<ConfigRequest>({
      id: 'config.create',
      method: 'POST',
      path: '/configs/create',
      body: { kind: 'json', schema: configSchema, empty: 'refused' },
      handler: async ({ body }, { configs }) => created(await configs.create(body)),
    }),
    swarmRoute({
      id: 'config.inspect',
      method: 'GET',
      path: '/configs/:id',
      handler: async (request, { configs }) => ok(await configs.inspect(refOf(request))),
    }),
    swarmRoute<ConfigRequest>({
      id: 'config.update',
      method: 'POST',
      path: '/configs/:id/update',
      body: { kind: 'json', schema: configSchema, empty: 'refused' },
      handler: async (request, swarm) => {
        const version = versionOf(request.query, 'config');
        await swarm.configs.update(refOf(request), version, request.body);
        return empty(200);
      },
    }),
    swarmRoute({
      id: 'config.remove',
      method: 'DELETE',
      path: '/configs/:id',
      handler: async (request, { configs }) => {
        await configs.remove(refOf(request));
        return empty(204);
      },
    }),
  ];
}

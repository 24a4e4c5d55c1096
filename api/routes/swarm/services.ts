import { serviceAccepts, serviceSchema } from '../../schemas/swarm/service.ts';
import type { ServiceWriteOptions } from '../../types/swarm/ports.ts';
import type { ServiceSpec } from '../../types/swarm/service.ts';
import { logsOptions } from '../logs-options.ts';
import { created, empty, ok } from '../route.ts';
import type { ApiRequest, BodyRule, ServedRoute } from '../route.ts';
import { defined } from '../values.ts';
import { flagOf, versionOf } from './parameters.ts';
import { NO_STREAM, refOf, swarmRoute } from './swarm-route.ts';

const BODY: BodyRule = { kind: 'json', schema: serviceSchema, accepts: serviceAccepts, empty: 'refused' };

/** Services of the swarm. */
export const serviceRoutes: readonly ServedRoute[] = [
  swarmRoute({
    id: 'service.list',
    method: 'GET',
    path: '/services',
    handler: async ({ query }, swarm) => {
      const filters = query.filters();
      const status = flagOf(query, 'status');
      return ok(await swarm.services.list(filters, { status }));
    },
  }),
  swarmRoute<ServiceSpec>({
    id: 'service.create',
    method: 'POST',
    path: '/services/create',
    body: BODY,
    handler: async (request, { services }) =>
      created(await services.create(request.body, writeOptions(request))),
  }),
  swarmRoute({
    id: 'service.inspect',
    method: 'GET',
    path: '/services/:id',
    handler: async (request, swarm) => {
      const insertDefaults = flagOf(request.query, 'insertDefaults');
      return ok(await swarm.services.inspect(refOf(request), { insertDefaults }));
    },
  }),
  swarmRoute<ServiceSpec>({
    id: 'service.update',
    method: 'POST',
    path: '/services/:id/update',
    body: BODY,
    handler: async (request, swarm) => {
      const { query } = request;
      const options = {
        ...writeOptions(request),
        version: versionOf(query, 'service'),
        registryAuthFrom: query.text('registryAuthFrom') ?? '',
        rollback: query.text('rollback') ?? '',
      };
      const { Warnings = null } = await swarm.services.update(refOf(request), request.body, options);
      return ok({ Warnings });
    },
  }),
  swarmRoute({
    id: 'service.remove',
    method: 'DELETE',
    path: '/services/:id',
    handler: async (request, { services }) => {
      await services.remove(refOf(request));
      return empty(200);
    },
  }),
  swarmRoute({
    id: 'service.logs',
    method: 'GET',
    path: '/services/:id/logs',
    handler: async (request, swarm) => {
      const options = logsOptions(request.query, request.signal, NO_STREAM);
      return { kind: 'frames', stream: await swarm.services.logs(refOf(request), options) };
    },
  }),
];

function writeOptions({ header, speaks, signal }: ApiRequest<ServiceSpec>): ServiceWriteOptions {
  return {
    ...defined({ registryAuth: header('x-registry-auth') || undefined }),
    pinImage: !speaks('client-pins-images'),
    signal,
  };
}

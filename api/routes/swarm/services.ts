import { serviceAccepts, serviceSchema } from '../../schemas/swarm/service.ts';
import type { ServiceWriteOptions } from '../../types/swarm/ports.ts';
import type { ServiceSpec } from '../../types/swarm/service.ts';
import { logsOptions } from '../logs-options.ts';
import { created, empty, ok } from '../route.ts';
import type { ApiRequest, BodyRule, ServedRoute } from '../route.ts';
import { defined } from '../values.ts';
import { flagOf, versionOf } from './parameters.ts';
import { NO_STREAM, refOf, swarmRoute } from './swarm-route.ts';

const PARTLY = 'not with ports of mode ingress or overlay networks';
const BODY: BodyRule = { kind: 'json', schema: serviceSchema, accepts: serviceAccepts, empty: 'refused' };

/** Services of the swarm. */
export const serviceRoutes: readonly ServedRoute[] = [
  swarmRoute({
    id: 'service.list',
    method: 'GET',
    path: '/services',
    handler: async ({ query }, { services }) =>
      ok(await services.list(query.filters(), { status: flagOf(query, 'status') })),
  }),
  swarmRoute<ServiceSpec>({
    id: 'service.create',
    method: 'POST',
    path: '/services/create',
    partly: PARTLY,
    body: BODY,
    handler: async (request, { services }) =>
      created(await services.create(request.body, writeOptions(request))),
  }),
  swarmRoute({
    id: 'service.inspect',
    method: 'GET',
    path: '/services/:id',
    handler: async (request, { services }) => {
      const insertDefaults = flagOf(request.query, 'insertDefaults');
      return ok(await services.inspect(refOf(request), { insertDefaults }));
    },
  }),
  swarmRoute<ServiceSpec>({
    id: 'service.update',
    method: 'POST',
    path: '/services/:id/update',
    partly: PARTLY,
    body: BODY,
    handler: async (request, { services }) => {
      const { query } = request;
      const { Warnings = null } = await services.update(refOf(request), request.body, {
        ...writeOptions(request),
        version: versionOf(query, 'service'),
        registryAuthFrom: query.text('registryAuthFrom') ?? '',
        rollback: query.text('rollback') ?? '',
      });
      return request.speaks('service-update-answers') ? ok({ Warnings }) : empty(200);
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
    handler: async (request, { services }) => {
      const options = logsOptions(request.query, request.signal, NO_STREAM);
      return { kind: 'frames', stream: await services.logs(refOf(request), options) };
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

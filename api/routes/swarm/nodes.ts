import { nodeSchema } from '../../schemas/swarm/cluster.ts';
import type { NodeSpec } from '../../types/swarm/node.ts';
import { empty, ok } from '../route.ts';
import type { ServedRoute } from '../route.ts';
import { versionOf } from './parameters.ts';
import { refOf, swarmRoute } from './swarm-route.ts';

/** Nodes of the swarm. */
export const nodeRoutes: readonly ServedRoute[] = [
  swarmRoute({
    id: 'node.list',
    method: 'GET',
    path: '/nodes',
    handler: async ({ query }, swarm) => {
      const filters = query.filters();
      return ok(await swarm.nodes.list(filters));
    },
  }),
  swarmRoute({
    id: 'node.inspect',
    method: 'GET',
    path: '/nodes/:id',
    handler: async (request, { nodes }) => ok(await nodes.inspect(refOf(request))),
  }),
  swarmRoute<NodeSpec>({
    id: 'node.update',
    method: 'POST',
    path: '/nodes/:id/update',
    body: { kind: 'json', schema: nodeSchema, empty: 'refused' },
    handler: async (request, swarm) => {
      const version = versionOf(request.query, 'node');
      await swarm.nodes.update(refOf(request), version, request.body);
      return empty(200);
    },
  }),
  swarmRoute({
    id: 'node.remove',
    method: 'DELETE',
    path: '/nodes/:id',
    handler: async (request, { nodes }) => {
      await nodes.remove(refOf(request), { force: request.query.bool('force') });
      return empty(200);
    },
  }),
];

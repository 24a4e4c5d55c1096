import {
  swarmInitAccepts,
  swarmInitSchema,
  swarmJoinSchema,
  swarmSpecAccepts,
  swarmSpecSchema,
  swarmUnlockSchema,
} from '../../schemas/swarm/cluster.ts';
import type { SwarmInitRequest, SwarmJoinRequest, SwarmSpec } from '../../types/swarm/swarm.ts';
import { empty, ok } from '../route.ts';
import type { ServedRoute } from '../route.ts';
import { rotationOf, versionOf } from './parameters.ts';
import { swarmRoute } from './swarm-route.ts';

/** The swarm itself, and what a node is to it. */
export const clusterRoutes: readonly ServedRoute[] = [
  swarmRoute<SwarmInitRequest>({
    id: 'swarm.init',
    method: 'POST',
    path: '/swarm/init',
    body: { kind: 'json', schema: swarmInitSchema, accepts: swarmInitAccepts, empty: 'refused' },
    handler: async ({ body }, swarm) => ok(await swarm.init(body)),
  }),
  swarmRoute<SwarmJoinRequest>({
    id: 'swarm.join',
    method: 'POST',
    path: '/swarm/join',
    body: { kind: 'json', schema: swarmJoinSchema, empty: 'refused' },
    handler: async ({ body }, swarm) => {
      await swarm.join(body);
      return empty(200);
    },
  }),
  swarmRoute({
    id: 'swarm.leave',
    method: 'POST',
    path: '/swarm/leave',
    handler: async ({ query }, swarm) => {
      await swarm.leave({ force: query.bool('force') });
      return empty(200);
    },
  }),
  swarmRoute({
    id: 'swarm.inspect',
    method: 'GET',
    path: '/swarm',
    handler: async (_request, swarm) => ok(await swarm.inspect()),
  }),
  swarmRoute<SwarmSpec>({
    id: 'swarm.update',
    method: 'POST',
    path: '/swarm/update',
    body: { kind: 'json', schema: swarmSpecSchema, accepts: swarmSpecAccepts, empty: 'refused' },
    handler: async ({ body, query }, swarm) => {
      await swarm.update(versionOf(query, 'swarm'), body, {
        rotateWorkerToken: rotationOf(query, 'rotateWorkerToken'),
        rotateManagerToken: rotationOf(query, 'rotateManagerToken'),
        rotateManagerUnlockKey: rotationOf(query, 'rotateManagerUnlockKey'),
      });
      return empty(200);
    },
  }),
  swarmRoute({
    id: 'swarm.unlockKey',
    method: 'GET',
    path: '/swarm/unlockkey',
    handler: async (_request, swarm) => ok({ UnlockKey: await swarm.unlockKey() }),
  }),
  swarmRoute<{ UnlockKey?: string }>({
    id: 'swarm.unlock',
    method: 'POST',
    path: '/swarm/unlock',
    body: { kind: 'json', schema: swarmUnlockSchema, empty: 'refused' },
    handler: async ({ body }, swarm) => {
      await swarm.unlock(body.UnlockKey ?? '');
      return empty(200);
    },
  }),
];

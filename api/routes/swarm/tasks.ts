import { logsOptions } from '../logs-options.ts';
import { ok } from '../route.ts';
import type { ServedRoute } from '../route.ts';
import { NO_STREAM, refOf, swarmRoute } from './swarm-route.ts';

/** Tasks of services. */
export const taskRoutes: readonly ServedRoute[] = [
  swarmRoute({
    id: 'task.list',
    method: 'GET',
    path: '/tasks',
    handler: async ({ query }, swarm) => {
      const filters = query.filters();
      return ok(await swarm.tasks.list(filters));
    },
  }),
  swarmRoute({
    id: 'task.inspect',
    method: 'GET',
    path: '/tasks/:id',
    handler: async (request, { tasks }) => ok(await tasks.inspect(refOf(request))),
  }),
  swarmRoute({
    id: 'task.logs',
    method: 'GET',
    path: '/tasks/:id/logs',
    handler: async (request, swarm) => {
      const options = logsOptions(request.query, request.signal, NO_STREAM);
      return { kind: 'frames', stream: await swarm.tasks.logs(refOf(request), options) };
    },
  }),
];

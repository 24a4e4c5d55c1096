import { isEngineError } from '../../../daemon/base/errors.ts';
import type { SwarmPort } from '../../types/swarm/ports.ts';
import { route } from '../route.ts';
import type { ApiRequest, Result, RouteDefinition, ServedRoute } from '../route.ts';

/** Of logs of services and tasks that ask for neither stream. */
export const NO_STREAM = "must specify at least one of 'stdout' or 'stderr'";

interface SwarmRouteDefinition<Body> extends Omit<RouteDefinition<Body>, 'handler'> {
  handler: (request: ApiRequest<Body>, swarm: SwarmPort) => Promise<Result>;
}

/**
 * A route of the swarm. What is wrong with a request is looked for before a manager's port (`swarm.nodes`, say) is
 * taken, which throws where this node is none. Where this node cannot serve it (it is in no swarm, say), clients of
 * 1.24 know 406 alone.
 */
export function swarmRoute<Body = undefined>(definition: SwarmRouteDefinition<Body>): ServedRoute {
  const { handler } = definition;
  return route<Body>({
    ...definition,
    handler: async (request, { swarm }) => {
      try {
        return await handler(request, swarm);
      } catch (error) {
        if (isEngineError(error, 'unavailable') && !request.speaks('no-swarm-is-503')) {
          return { kind: 'failure', status: 406, message: error.message };
        }
        throw error;
      }
    },
  });
}

/** What a path names: an id, a name or the beginning of an id. */
export function refOf({ params }: Pick<ApiRequest, 'params'>): string {
  return params['id'] ?? '';
}

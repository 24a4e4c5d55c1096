import { archiveRoutes } from './archive.ts';
import { buildRoutes } from './build.ts';
import { buildkitRoutes } from './buildkit.ts';
import { commitRoutes } from './commit.ts';
import { containerRoutes } from './containers.ts';
import { execRoutes } from './execs.ts';
import { imageRoutes } from './images.ts';
import { networkRoutes } from './networks.ts';
import { refusedRoutes } from './refused.ts';
import { registryRoutes } from './registries.ts';
import type { Route } from './route.ts';
import { clusterRoutes } from './swarm/cluster.ts';
import { dataRoutes } from './swarm/data.ts';
import { nodeRoutes } from './swarm/nodes.ts';
import { serviceRoutes } from './swarm/services.ts';
import { taskRoutes } from './swarm/tasks.ts';
import { systemRoutes } from './system.ts';
import { volumeRoutes } from './volumes.ts';

/** Every operation the engine knows. `npm run coverage:api` compares it with the published API documents. */
export const ROUTES: readonly Route[] = [
  ...systemRoutes,
  ...containerRoutes,
  ...archiveRoutes,
  ...execRoutes,
  ...registryRoutes,
  ...buildRoutes,
  ...buildkitRoutes,
  ...commitRoutes,
  ...imageRoutes,
  ...networkRoutes,
  ...volumeRoutes,
  ...clusterRoutes,
  ...nodeRoutes,
  ...serviceRoutes,
  ...taskRoutes,
  ...dataRoutes,
  ...refusedRoutes,
];

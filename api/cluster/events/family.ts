import type { ClusterFamily } from '../family.ts';
import { discoveryRoutes } from './discovery.ts';
import { openApiRoutes } from './openapi/routes.ts';
import { eventRoutes } from './routes.ts';
import { statusFailure } from './status.ts';

/** Kubernetes: events.k8s.io/v1, with what its clients ask before. */
export const eventsFamily: ClusterFamily = {
  routes: [...discoveryRoutes, ...openApiRoutes, ...eventRoutes],
  isFor: (path) => /^\/(apis?|openapi|version)(\/|$)/.test(path),
  identify: ({ credentials }, ports) => ports.identity.identify(credentials),
  failure: (error) => statusFailure(error),
};

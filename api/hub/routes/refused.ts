import type { RefusedHubRoute } from './route.ts';

/** Operations of the published document that the hub does not have yet: 501 with a sentence. */
export const refusedRoutes: readonly RefusedHubRoute[] = [
  refused('registry.base', 'GET', '/v2/', 'the registry of the hub is not built yet'),
];

function refused(
  id: string,
  method: RefusedHubRoute['method'],
  path: string,
  reason: string,
): RefusedHubRoute {
  return { id, method, path, refused: `${method} ${path}: ${reason}` };
}

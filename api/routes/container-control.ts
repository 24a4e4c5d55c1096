import { empty, route } from './route.ts';
import type { ServedRoute } from './route.ts';

/** Operations on what a running container may use and does (docs: api/docs/v1.24.md section 3.1). */
export const containerControlRoutes: readonly ServedRoute[] = [
  route({
    id: 'container.pause',
    method: 'POST',
    path: '/containers/:id/pause',
    handler: async ({ params }, { containers }) => {
      await containers.pause(params['id'] ?? '');
      return empty(204);
    },
  }),
  route({
    id: 'container.unpause',
    method: 'POST',
    path: '/containers/:id/unpause',
    handler: async ({ params }, { containers }) => {
      await containers.unpause(params['id'] ?? '');
      return empty(204);
    },
  }),
];

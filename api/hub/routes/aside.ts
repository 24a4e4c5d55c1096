import { hubRoute, list, ok, param, type ServedHubRoute } from './route.ts';

/** What is kept aside of a hub that this host had before, on the engine's socket. */
export const asideRoutes: readonly ServedHubRoute[] = [
  hubRoute({
    id: 'aside.list',
    method: 'GET',
    path: '/admin/aside',
    handler: ({ session }) => list(session.aside.list()),
  }),
  hubRoute({
    id: 'aside.restore',
    method: 'POST',
    path: '/admin/aside/:source/restore',
    handler: async ({ session, ...request }) => ok(await session.aside.restore(param(request, 'source'))),
  }),
];

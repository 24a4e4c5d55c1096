import type { RefusedHubRoute } from './route.ts';

const HOOKS = 'webhooks of repositories are not built yet';
const HOOK = '/repos/:owner/:repo/hooks';

/** Operations of the published document that the hub does not have yet: 501 with a sentence. */
export const refusedRoutes: readonly RefusedHubRoute[] = [
  refused('hook.list', 'GET', HOOK, HOOKS),
  refused('hook.create', 'POST', HOOK, HOOKS),
  refused('hook.get', 'GET', `${HOOK}/:hook_id`, HOOKS),
  refused('hook.edit', 'PATCH', `${HOOK}/:hook_id`, HOOKS),
  refused('hook.remove', 'DELETE', `${HOOK}/:hook_id`, HOOKS),
  refused('hook.config', 'GET', `${HOOK}/:hook_id/config`, HOOKS),
  refused('hook.edit-config', 'PATCH', `${HOOK}/:hook_id/config`, HOOKS),
  refused('delivery.list', 'GET', `${HOOK}/:hook_id/deliveries`, HOOKS),
  refused('delivery.get', 'GET', `${HOOK}/:hook_id/deliveries/:delivery_id`, HOOKS),
  refused('delivery.redeliver', 'POST', `${HOOK}/:hook_id/deliveries/:delivery_id/attempts`, HOOKS),
  refused('hook.ping', 'POST', `${HOOK}/:hook_id/pings`, HOOKS),
  refused('hook.test', 'POST', `${HOOK}/:hook_id/tests`, HOOKS),
  refused('hook.test-old', 'POST', `${HOOK}/:hook_id/test`, HOOKS),
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

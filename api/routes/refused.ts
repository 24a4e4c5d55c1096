import type { ApiVersion } from '../versions/version.ts';
import type { Method, RefusedRoute } from './route.ts';

type Line = [id: string, method: Method, path: string, message: string, until?: ApiVersion | undefined];

/** Operations this engine does not have yet. Each says so by name; none is a 404 or a silent success. */
const NOT_YET: readonly Line[] = [
  ['plugin.pull', 'POST', '/plugins/pull', 'plugins are'],
  ['plugin.privileges', 'GET', '/plugins/privileges', 'plugins are'],
  ['plugin.create', 'POST', '/plugins/create', 'plugins are'],
  ['plugin.inspect', 'GET', '/plugins/*name/json', 'plugins are'],
  ['plugin.inspectOld', 'GET', '/plugins/*name', 'plugins are', 25],
  ['plugin.enable', 'POST', '/plugins/*name/enable', 'plugins are'],
  ['plugin.disable', 'POST', '/plugins/*name/disable', 'plugins are'],
  ['plugin.upgrade', 'POST', '/plugins/*name/upgrade', 'plugins are'],
  ['plugin.set', 'POST', '/plugins/*name/set', 'plugins are'],
  ['plugin.push', 'POST', '/plugins/*name/push', 'plugins are'],
  ['plugin.remove', 'DELETE', '/plugins/*name', 'plugins are'],
  ['volume.update', 'PUT', '/volumes/:name', 'cluster volumes are'],
];

export const refusedRoutes: readonly RefusedRoute[] = NOT_YET.map(([id, method, path, what, until]) => ({
  id,
  method,
  path,
  refused: `${what} not supported yet`,
  ...(until === undefined ? {} : { until }),
}));

import type { ApiVersion } from '../versions/version.ts';
import type { Method, RefusedRoute } from './route.ts';

type Line = [id: string, method: Method, path: string, message: string, until?: ApiVersion | undefined];

/** The words the docker CLI shows and scripts look for. */
export const NOT_A_MANAGER =
  'This node is not a swarm manager. Use "docker swarm init" or "docker swarm join" to connect this node to swarm ' +
  'and try again.';
const NO_CLUSTER_VOLUMES = 'volume update only valid for cluster volumes, but swarm is unavailable';
const NO_SWARM = 'This node is not part of a swarm';

/** Operations this engine does not have yet. Each says so by name; none is a 404 or a silent success. */
const NOT_YET: readonly Line[] = [
  ['system.session', 'POST', '/session', 'a BuildKit session is'],
  ['system.grpc', 'POST', '/grpc', 'a BuildKit connection is'],
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
  ['swarm.init', 'POST', '/swarm/init', 'initialising a swarm is'],
  ['swarm.join', 'POST', '/swarm/join', 'joining a swarm is'],
];

/** These need a swarm manager, and no node of this engine is one yet: what dockerd answers outside a swarm is true. */
const NEEDS_SWARM: readonly Line[] = [
  ['swarm.inspect', 'GET', '/swarm', NOT_A_MANAGER],
  ['swarm.leave', 'POST', '/swarm/leave', NO_SWARM],
  ['swarm.update', 'POST', '/swarm/update', NOT_A_MANAGER],
  ['swarm.unlockKey', 'GET', '/swarm/unlockkey', NO_SWARM],
  ['swarm.unlock', 'POST', '/swarm/unlock', NO_SWARM],
  ['volume.update', 'PUT', '/volumes/:name', NO_CLUSTER_VOLUMES],
  ['node.list', 'GET', '/nodes', NOT_A_MANAGER],
  ['node.inspect', 'GET', '/nodes/:id', NOT_A_MANAGER],
  ['node.remove', 'DELETE', '/nodes/:id', NOT_A_MANAGER],
  ['node.update', 'POST', '/nodes/:id/update', NOT_A_MANAGER],
  ['service.list', 'GET', '/services', NOT_A_MANAGER],
  ['service.create', 'POST', '/services/create', NOT_A_MANAGER],
  ['service.inspect', 'GET', '/services/:id', NOT_A_MANAGER],
  ['service.remove', 'DELETE', '/services/:id', NOT_A_MANAGER],
  ['service.update', 'POST', '/services/:id/update', NOT_A_MANAGER],
  ['service.logs', 'GET', '/services/:id/logs', NOT_A_MANAGER],
  ['task.list', 'GET', '/tasks', NOT_A_MANAGER],
  ['task.inspect', 'GET', '/tasks/:id', NOT_A_MANAGER],
  ['task.logs', 'GET', '/tasks/:id/logs', NOT_A_MANAGER],
  ['secret.list', 'GET', '/secrets', NOT_A_MANAGER],
  ['secret.create', 'POST', '/secrets/create', NOT_A_MANAGER],
  ['secret.inspect', 'GET', '/secrets/:id', NOT_A_MANAGER],
  ['secret.remove', 'DELETE', '/secrets/:id', NOT_A_MANAGER],
  ['secret.update', 'POST', '/secrets/:id/update', NOT_A_MANAGER],
  ['config.list', 'GET', '/configs', NOT_A_MANAGER],
  ['config.create', 'POST', '/configs/create', NOT_A_MANAGER],
  ['config.inspect', 'GET', '/configs/:id', NOT_A_MANAGER],
  ['config.remove', 'DELETE', '/configs/:id', NOT_A_MANAGER],
  ['config.update', 'POST', '/configs/:id/update', NOT_A_MANAGER],
];

export const refusedRoutes: readonly RefusedRoute[] = [
  ...NOT_YET.map(([id, method, path, what, until]) =>
    refusedRoute([id, method, path, `${what} not supported yet`, until]),
  ),
  ...NEEDS_SWARM.map((line): RefusedRoute => ({ ...refusedRoute(line), noSwarm: true })),
];

function refusedRoute([id, method, path, refused, until]: Line): RefusedRoute {
  return { id, method, path, refused, ...(until === undefined ? {} : { until }) };
}

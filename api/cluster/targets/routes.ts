import { randomUUID } from 'node:crypto';
import { EngineError } from '../../../daemon/base/errors.ts';
import type { TargetsPort } from '../../types/cluster/targets.ts';
import type { ClusterRoute } from '../family.ts';
import { bodyOf, jsonOf } from './body.ts';

interface Operation {
  method: ClusterRoute['method'];
  /** Parts with `:` are identifiers: an id, or an ARN as one percent-encoded part. */
  path: string;
  operation: keyof TargetsPort;
  /** Status of success. */
  status: 200 | 201;
  /** By its method it writes, and does not. */
  isRead?: true;
}

/** Paths and methods of Amazon VPC Lattice 2022-11-30, `rest-json`. */
const OPERATIONS: readonly Operation[] = [
  { method: 'POST', path: '/targetgroups', operation: 'createTargetGroup', status: 201 },
  { method: 'GET', path: '/targetgroups', operation: 'listTargetGroups', status: 200 },
  { method: 'GET', path: '/targetgroups/:group', operation: 'getTargetGroup', status: 200 },
  { method: 'PATCH', path: '/targetgroups/:group', operation: 'updateTargetGroup', status: 200 },
  { method: 'DELETE', path: '/targetgroups/:group', operation: 'deleteTargetGroup', status: 200 },
  { method: 'POST', path: '/targetgroups/:group/registertargets', operation: 'registerTargets', status: 200 },
  {
    method: 'POST',
    path: '/targetgroups/:group/deregistertargets',
    operation: 'deregisterTargets',
    status: 200,
  },
  {
    method: 'POST',
    path: '/targetgroups/:group/listtargets',
    operation: 'listTargets',
    status: 200,
    isRead: true,
  },
  { method: 'GET', path: '/tags/:resource', operation: 'listTags', status: 200 },
  { method: 'POST', path: '/tags/:resource', operation: 'tagResource', status: 200 },
  { method: 'DELETE', path: '/tags/:resource', operation: 'untagResource', status: 200 },
  { method: 'POST', path: '/services', operation: 'createService', status: 201 },
  { method: 'GET', path: '/services', operation: 'listServices', status: 200 },
  { method: 'GET', path: '/services/:service', operation: 'getService', status: 200 },
  { method: 'PATCH', path: '/services/:service', operation: 'updateService', status: 200 },
  { method: 'DELETE', path: '/services/:service', operation: 'deleteService', status: 200 },
  { method: 'POST', path: '/services/:service/listeners', operation: 'createListener', status: 201 },
  { method: 'GET', path: '/services/:service/listeners', operation: 'listListeners', status: 200 },
  { method: 'GET', path: '/services/:service/listeners/:listener', operation: 'getListener', status: 200 },
  {
    method: 'PATCH',
    path: '/services/:service/listeners/:listener',
    operation: 'updateListener',
    status: 200,
  },
  {
    method: 'DELETE',
    path: '/services/:service/listeners/:listener',
    operation: 'deleteListener',
    status: 200,
  },
];

/** Operations on target groups, services and listeners. */
export const targetRoutes: readonly ClusterRoute[] = OPERATIONS.map(
  ({ method, path, operation, status, isRead }) => ({
    id: `targets.${operation}`,
    method,
    path,
    handler: async (request, ports) => {
      if (!request.caller.mayWrite && method !== 'GET' && isRead !== true) {
        throw new EngineError('forbidden', `${request.caller.name} may only look`);
      }
      const { params, query, req } = request;
      const body = jsonOf(await bodyOf(req));
      const answer = await ports.targets().operations[operation]({ params, query, body });
      return { kind: 'answer', status, body: JSON.stringify(answer), headers: requestId() };
    },
  }),
);

/** Clients of the original show it with errors. */
export function requestId(): Record<string, string> {
  return { 'x-amzn-RequestId': randomUUID() };
}

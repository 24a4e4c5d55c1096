import { EngineError } from '../../../daemon/base/errors.ts';
import type { ClusterCaller } from '../../types/cluster/ports.ts';
import type { ClusterFamily } from '../family.ts';
import { bodyOf } from './body.ts';
import { toTargetsFailure } from './errors.ts';
import { absentAt } from './absent.ts';
import { rootRoutes } from './root-routes.ts';
import { requestId, targetRoutes } from './routes.ts';

/** Amazon VPC Lattice 2022-11-30: target groups, services and listeners. */
export const targetsFamily: ClusterFamily = {
  routes: [...targetRoutes, ...rootRoutes],
  isFor: (path) =>
    /^\/(targetgroups|services|tags|accesskeys|certificates)(\/|$)/.test(path) ||
    absentAt(path) !== undefined,
  absent: absentAt,
  identify: async ({ method, req, credentials }, ports): Promise<ClusterCaller> => {
    const { authorization } = credentials;
    if (authorization?.startsWith('AWS4-') === true) {
      const body = await bodyOf(req);
      const parts = { method, target: req.url ?? '/', headers: req.headers, body };
      return ports.identity.user(ports.targets().keys.userOf(parts));
    }
    const showsNothing =
      credentials.entrance === 'listener' &&
      credentials.certificate === undefined &&
      authorization === undefined;
    if (!showsNothing) {
      return ports.identity.identify(credentials);
    }
    const caller = ports.identity.unsigned();
    if (caller === undefined) {
      throw new EngineError('forbidden', 'the request is not signed, and has no token', {
        details: { kind: 'MissingAuthenticationTokenException' },
      });
    }
    return caller;
  },
  failure: (error) => {
    const { status, headers, body, level } = toTargetsFailure(error);
    const text = JSON.stringify(body);
    return {
      status,
      headers: { ...headers, ...requestId() },
      contentType: 'application/json',
      body: text,
      level,
    };
  },
};

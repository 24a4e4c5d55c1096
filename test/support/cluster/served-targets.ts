import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClusterApi } from '../../../api/cluster/cluster-api.ts';
import { systemClock } from '../../../daemon/base/clock.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { ClusterIdentity } from '../../../daemon/boot/cluster/cluster-identity.ts';
import { AccessKeys } from '../../../daemon/cluster/targets/signing/access-keys.ts';
import type { TargetGroupsDeps } from '../../../daemon/cluster/targets/target-groups.ts';
import { openTargets, type OpenTargets } from './open-targets.ts';

export interface ServedTargets extends AsyncDisposable {
  open: OpenTargets;
  /** `http://127.0.0.1:PORT`. */
  url: string;
  /** A pair of keys for a user: alice may change things, bob may look, carol may not come in. */
  keys(user: string): Promise<{ accessKeyId: string; secretAccessKey: string }>;
}

/** Target groups over HTTP as at the own listener of the cluster. `alice`, `bob` and `carol` are tokens of users. */
export async function serveTargets(
  deps: Partial<TargetGroupsDeps> = {},
  isUnsignedTaken = false,
): Promise<ServedTargets> {
  const open = await openTargets(deps);
  const keys = new AccessKeys({ store: open.store, clock: systemClock });
  const identity = new ClusterIdentity({
    userName: ({ authorization = '' }) => {
      const [, token] = /^Bearer (alice|bob|carol)$/.exec(authorization) ?? [];
      if (token === undefined) {
        throw new EngineError('unauthorized', 'Bad credentials');
      }
      return token;
    },
    users: ['alice', 'bob:read'],
    isUnsignedTaken,
  });
  const api = createClusterApi({
    ports: {
      identity,
      events: () => {
        throw new EngineError('unavailable', 'there are no events');
      },
      targets: () => ({ operations: open.targets.operations, certificates: open.targets.certificates, keys }),
    },
    log: silentLogger,
    version: '0.1.0',
  });
  const server = createServer((req, res) => api.handle(req, res, 'listener', req.url ?? '/'));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // It listens at an address.
  const { port } = server.address() as AddressInfo;
  return {
    open,
    url: `http://127.0.0.1:${port}`,
    keys: async (user) => {
      const made: Record<string, unknown> = { ...(await keys.create({ user })) };
      return { accessKeyId: String(made['accessKeyId']), secretAccessKey: String(made['secretAccessKey']) };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await open[Symbol.asyncDispose]();
    },
  };
}

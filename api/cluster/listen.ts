import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Listener } from '../listen.ts';
import { listenOwn, type OwnAddress } from '../own-listener.ts';
import type { ClusterApi } from './cluster-api.ts';

/** Serves the cluster interface at an address of its own. Throws unavailable when it cannot listen. */
export async function listenCluster(
  api: ClusterApi,
  address: OwnAddress,
  { log, onClose }: { log: Logger; onClose: () => void },
): Promise<Listener> {
  return await listenOwn(
    {
      address,
      setting: 'cluster.address',
      title: 'the cluster interface',
      connectionsMax: limits.clusterConnectionsMax,
      handle: (req, res) => api.handle(req, res, 'listener', req.url ?? '/'),
      onClose,
    },
    log,
  );
}

import { errorText } from '../../../daemon/base/errors.ts';
import type { Rollback } from '../../../daemon/base/rollback.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { sealedKey } from '../../objects/values.ts';
import type { EtcdChannel } from '../../store/etcd/channel.ts';
import { compactAtOnce, defragment } from '../../store/etcd/maintenance.ts';
import { managersIn } from '../manager/manager-table.ts';
import type { ManagerLifeDeps } from '../manager/open-parts.ts';
import type { ManagerPart } from '../ports.ts';
import { DataKeys } from './data-keys.ts';
import { opens } from './standing.ts';
import { WaitingKeys } from './waiting-keys.ts';

/**
 * This manager's keys, with what was changed while it was away. Throws unavailable where it cannot go on without a key
 * that nobody tells.
 */
export async function openKeys<P extends ManagerPart>(
  deps: ManagerLifeDeps<P>,
  { cluster, channel, end }: { cluster: Cluster; channel: EtcdChannel; end: Rollback },
): Promise<DataKeys> {
  const { clock, logger, certificates, dial, runDirectory, file } = deps;
  const keys = new DataKeys({
    clock,
    logger,
    cluster,
    certificates,
    dial,
    waiting: new WaitingKeys(runDirectory),
    node: file().node,
    managers: () => managersIn(cluster),
    purge: async () => {
      await compactAtOnce(channel, cluster.revision);
      await defragment(channel);
    },
  });
  end.defer('end following the data keys', async () => keys[Symbol.asyncDispose]());
  try {
    await keys.follow();
  } catch (error) {
    const root = cluster.value(sealedKey.root());
    if (root !== undefined && !opens(keys.known, root)) {
      throw error;
    }
    // The manager that locked the swarm died before others had its key: all else can be opened, and it may come back.
    logger.warn({ error: errorText(error) }, 'the unlock key of the swarm cannot be opened yet');
  }
  return keys;
}

import type { ClusterInfo, SwarmInspect } from '../../../api/types/swarm/swarm.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import type { ClusterRecord } from '../../objects/cluster.ts';
import { headOf } from '../base/head.ts';
import type { ControlContext } from '../context.ts';

/** The swarm as it is; a manager without it has not read its store yet. */
export function clusterRecord({ cluster }: Pick<ControlContext, 'cluster'>): ClusterRecord {
  const { cluster: record } = cluster.state;
  if (record === undefined) {
    throw new EngineError('unavailable', 'the swarm is not in the store of this manager');
  }
  return record;
}

/** The swarm as `/info` shows it: without its tokens. */
export function clusterInfo(context: Pick<ControlContext, 'cluster' | 'root'>): ClusterInfo {
  const { cluster, root } = context;
  const record = clusterRecord(context);
  return {
    ...headOf(record, cluster.revisionOf('cluster', record.id)),
    Spec: record.spec,
    TLSInfo: root.tlsInfo(),
    RootRotationInProgress: root.isRotating,
    DefaultAddrPool: record.addressPools,
    SubnetSize: record.subnetSize,
    DataPathPort: record.dataPathPort,
  };
}

export async function swarmView(context: Pick<ControlContext, 'cluster' | 'root'>): Promise<SwarmInspect> {
  const { worker, manager } = await context.root.tokens();
  return { ...clusterInfo(context), JoinTokens: { Worker: worker, Manager: manager } };
}

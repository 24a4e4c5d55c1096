import type { Cluster } from '../../cluster/cluster.ts';
import type { NetworkRecord, OverlayRecord } from '../../objects/network.ts';
import { nameKey } from '../../objects/values.ts';
import { lookUp } from '../base/look-up.ts';
import { rpcError } from '../base/rpc-error.ts';

/** An overlay network of the swarm. */
export type KnownNetwork = NetworkRecord & { overlay: OverlayRecord };

export function isOverlay(record: NetworkRecord | undefined): record is KnownNetwork {
  return record?.overlay !== undefined;
}

/** The network of an id, a name or the beginning of an id. Throws not_found, or invalid_argument for several. */
export function findNetwork(cluster: Cluster, ref: string): NetworkRecord {
  const { networks } = cluster.state;
  return lookUp('network', ref, {
    byId: (id) => networks.get(id),
    byName: (name) => {
      const id = cluster.value(nameKey('network', name))?.value.toString() ?? '';
      const record = networks.get(id);
      return record === undefined ? [] : [record];
    },
    ids: () => networks.keys(),
  });
}

/** It may have been removed since it was looked up. */
export function knownNetwork(cluster: Cluster, id: string): KnownNetwork {
  const record = cluster.state.networks.get(id);
  if (!isOverlay(record)) {
    throw rpcError('NotFound', `network ${id} not found`);
  }
  return record;
}

/** The network of the routing mesh; undefined while there is none. */
export function ingressOf({ state }: Pick<Cluster, 'state'>): KnownNetwork | undefined {
  return [...state.networks.values()].filter(isOverlay).find(({ ingress }) => ingress);
}

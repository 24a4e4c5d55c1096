import type { NetworkInspect } from '../../../api/types/system.ts';
import { countAddresses } from '../../../daemon/base/addresses/count.ts';
import { formatAnySubnet, parseIp } from '../../../daemon/base/addresses/ip.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { poolsOf } from '../../planner/allocator/pools.ts';
import { isOverlay } from './find.ts';

/** How many addresses of a network of the swarm are taken and free, on all nodes. From memory. */
export function networkStatus({ state }: Cluster, networkId: string): NetworkInspect['Status'] {
  const record = state.networks.get(networkId);
  if (!isOverlay(record)) {
    return undefined;
  }
  const taken = [...state.addresses.of(networkId)];
  const counts = poolsOf(record.overlay).map(({ subnet, first, last, reserved }) => [
    formatAnySubnet(subnet),
    countAddresses(
      { subnet, first, last },
      [...reserved, ...taken].flatMap((text) => parseIp(text) ?? []),
    ),
  ]);
  return { IPAM: { Subnets: Object.fromEntries(counts) } };
}

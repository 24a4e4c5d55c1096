import type { SubnetStatus } from '../../../api/types/system.ts';
import { countAddresses } from '../../base/addresses/count.ts';
import { formatAnySubnet, isSubnet4 } from '../../base/addresses/ip.ts';
import type { Network } from '../network.ts';

/** How many addresses of each subnet of a network are taken and free. Pure. */
export function subnetStatuses({
  pool,
  pool6,
  addresses,
}: Pick<Network, 'pool' | 'pool6' | 'addresses'>): Record<string, SubnetStatus> {
  const pools = [pool, pool6].filter((each) => each !== undefined);
  return Object.fromEntries(
    pools.map(({ subnet, range, gateway, router, reserved }) => {
      const first = BigInt(range.base);
      const size = 2n ** BigInt((isSubnet4(range) ? 32 : 128) - range.prefixLength);
      const kept = [gateway, ...(router === undefined ? [] : [router]), ...(reserved ?? [])];
      return [
        formatAnySubnet(subnet),
        countAddresses({ subnet, first, last: first + size - 1n }, [...kept, ...addresses.keys()]),
      ];
    }),
  );
}

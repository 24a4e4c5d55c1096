import { isSubnet4 } from '../../base/addresses/ip.ts';
import type { Subnet } from '../../base/addresses/ipv4.ts';
import type { Subnet6 } from '../../base/addresses/ipv6.ts';
import { uniqueLocalSupply } from '../../base/addresses/free-subnet.ts';
import type { SubnetSupply6 } from '../../base/addresses/free-subnet.ts';
import type { NetworkOptions } from '../options.ts';
import type { NetworkDriver } from '../drivers/driver.ts';
import type { NetworkKernel } from '../ports.ts';
import type { NetworkIndex } from '../network-index.ts';

/** The pool of IPv6 subnets for networks that are created without one. */
export function supplies6(
  { addressPools6 }: Pick<NetworkOptions, 'addressPools6'>,
  registry: NetworkIndex,
): readonly SubnetSupply6[] {
  return addressPools6.length > 0 ? addressPools6 : [uniqueLocalSupply(registry.builtIn.bridge.id)];
}

/** Subnets that a new network must keep away from: of our networks, and of the host but for our own links. */
export function usedSubnets(
  registry: NetworkIndex,
  kernel: Pick<NetworkKernel, 'hostSubnets'>,
  drivers: ReadonlyMap<string, NetworkDriver>,
): { ipv4: Subnet[]; ipv6: Subnet6[] } {
  const networks = registry.all();
  const links = networks.flatMap((network) => drivers.get(network.driver)?.hostLinks(network) ?? []);
  const host = kernel.hostSubnets(links);
  return {
    ipv4: [...networks.flatMap(({ pool }) => pool?.subnet ?? []), ...host.filter(isSubnet4)],
    ipv6: [
      ...networks.flatMap(({ pool6 }) => pool6?.subnet ?? []),
      ...host.flatMap((subnet) => (isSubnet4(subnet) ? [] : [subnet])),
    ],
  };
}

import { subnetOf } from '../../daemon/base/ipv4.ts';
import type { Subnet } from '../../daemon/base/ipv4.ts';
import type { NetlinkSocket } from './netlink-socket.ts';
import { getAddresses, getRoutes, readAddress, readRoute } from './rtnetlink.ts';

/**
 * The IPv4 networks that the host has an address in or a route to, but for those of the link `exceptIndex`.
 */
export function hostSubnets(host: NetlinkSocket, exceptIndex: number): Subnet[] {
  const addresses = host.dump('addresses of the host', getAddresses()).map(readAddress);
  const own = addresses.filter(({ index }) => index === exceptIndex);
  const isOwn = (subnet: Subnet): boolean =>
    own.some(({ address, prefixLength }) => subnetOf(address, prefixLength).base === subnet.base);
  const routes = host
    .dump('routes of the host', getRoutes())
    .map(readRoute)
    .filter((route) => route !== undefined);
  return [
    ...addresses
      .filter(({ index }) => index !== exceptIndex)
      .map(({ address, prefixLength }) => subnetOf(address, prefixLength)),
    ...routes.filter((route) => !isOwn(route)),
  ];
}

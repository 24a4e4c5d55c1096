import { isIpv4, subnetOfInterface } from '../../../daemon/base/addresses/ip.ts';
import type { AnySubnet } from '../../../daemon/base/addresses/ip.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { getAddresses, getRoutes, readAddress, readRoute } from '../netlink/routes.ts';

/**
 * The networks that the host has an address in or (IPv4) a route to, but for those of the links `exceptIndexes`.
 */
export function hostSubnets(host: NetlinkSocket, exceptIndexes: ReadonlySet<number>): AnySubnet[] {
  const addresses = host
    .dump('addresses of the host', getAddresses())
    .map(readAddress)
    .filter(({ isLinkLocal, address }) => !isLinkLocal || isIpv4(address));
  const own = addresses.filter(({ index }) => exceptIndexes.has(index)).map(subnetOfInterface);
  const routes = host
    .dump('routes of the host', getRoutes())
    .map(readRoute)
    .filter((route) => route !== undefined);
  return [
    ...addresses.filter(({ index }) => !exceptIndexes.has(index)).map(subnetOfInterface),
    ...routes.filter((route) => !own.some(({ base }) => base === route.base)),
  ];
}

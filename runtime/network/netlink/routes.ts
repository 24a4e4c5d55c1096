import { addressBytes, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { InterfaceAddress, IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { ipv6Bytes, ipv6OfBytes } from '../../../daemon/base/addresses/ipv6.ts';
import { attribute, decodeAttributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';
import { FLAG } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/**
 * Addresses and routes as rtnetlink messages (rtnetlink(7)). Pure: builders of requests and readers of answers.
 * Addresses are numbers (IPv4) or bigints (IPv6).
 */
const RTM = {
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
  newRoute: 24,
  deleteRoute: 25,
  getRoute: 26,
};
const IFA = { address: 1, local: 2, broadcast: 4, flags: 8 };
/** No duplicate address detection: the daemon assigns addresses, and nothing is to wait a second for them. */
const IFA_FLAG_NODAD = 2;
const RTA = { destination: 1, outLink: 4, gateway: 5, table: 15 };
const AF = { unspecified: 0, inet: 2, inet6: 10 };
const ROUTE = {
  tableMain: 254,
  protocolBoot: 3,
  scopeUniverse: 0,
  scopeLink: 253,
  scopeNowhere: 255,
  typeUnicast: 1,
};

/** Gives a link an address; one that it has already is no error. */
export function newAddress(index: number, { address, prefixLength }: InterfaceAddress): NetlinkRequest {
  return {
    type: RTM.newAddress,
    flags: FLAG.create | FLAG.replace,
    header: addressHeader(familyOf(address), prefixLength, index),
    attributes: isIpv4(address)
      ? [
          attribute.u32be(IFA.local, address),
          attribute.u32be(IFA.address, address),
          // The kernel would take an address that is alone in its network for the one of all in there.
          ...(prefixLength > 30 ? [] : [attribute.u32be(IFA.broadcast, broadcastOf(address, prefixLength))]),
        ]
      : [
          attribute.bytes(IFA.local, ipv6Bytes(address)),
          attribute.bytes(IFA.address, ipv6Bytes(address)),
          attribute.u32(IFA.flags, IFA_FLAG_NODAD),
        ],
  };
}

function broadcastOf(address: number, prefixLength: number): number {
  const hostBits = 2 ** (32 - prefixLength) - 1;
  return address - (address % (hostBits + 1)) + hostBits;
}

export function deleteAddress(index: number, { address, prefixLength }: InterfaceAddress): NetlinkRequest {
  const attributes = [attribute.bytes(IFA.local, addressBytes(address))];
  const header = addressHeader(familyOf(address), prefixLength, index);
  return { type: RTM.deleteAddress, flags: 0, header, attributes };
}

/** To be dumped: of both families. */
export function getAddresses(): NetlinkRequest {
  return { type: RTM.getAddress, flags: 0, header: addressHeader(AF.unspecified, 0, 0), attributes: [] };
}

/** Replaces the default route of the gateway's family, or makes it. */
export function setDefaultRoute(gateway: IpAddress): NetlinkRequest {
  const via = [attribute.bytes(RTA.gateway, addressBytes(gateway))];
  return defaultRoute(familyOf(gateway), ROUTE.scopeUniverse, via);
}

/** As `setDefaultRoute`: straight out of a link, which is up. */
export function setDefaultRouteOut(family: 'ipv4' | 'ipv6', index: number): NetlinkRequest {
  const out = [attribute.u32(RTA.outLink, index)];
  return family === 'ipv4'
    ? defaultRoute(AF.inet, ROUTE.scopeLink, out)
    : defaultRoute(AF.inet6, ROUTE.scopeUniverse, out);
}

function defaultRoute(family: number, scope: number, attributes: Attribute[]): NetlinkRequest {
  const header = routeHeader(family);
  header.writeUInt8(ROUTE.tableMain, 4);
  header.writeUInt8(ROUTE.protocolBoot, 5);
  header.writeUInt8(scope, 6);
  header.writeUInt8(ROUTE.typeUnicast, 7);
  return { type: RTM.newRoute, flags: FLAG.create | FLAG.replace, header, attributes };
}

/** Fails with ESRCH when there is none. */
export function deleteDefaultRoute(family: 'ipv4' | 'ipv6'): NetlinkRequest {
  const header = routeHeader(family === 'ipv4' ? AF.inet : AF.inet6);
  header.writeUInt8(ROUTE.tableMain, 4);
  header.writeUInt8(ROUTE.scopeNowhere, 6);
  return { type: RTM.deleteRoute, flags: 0, header, attributes: [] };
}

/** To be dumped: of IPv4. */
export function getRoutes(): NetlinkRequest {
  return { type: RTM.getRoute, flags: 0, header: routeHeader(AF.inet), attributes: [] };
}

export function readAddress(
  message: NetlinkMessage,
): InterfaceAddress & { index: number; isLinkLocal: boolean } {
  const attributes = decodeAttributes(message.payload.subarray(8));
  const address = attributes.get(IFA.local) ?? attributes.get(IFA.address) ?? Buffer.alloc(4);
  return {
    index: message.payload.readUInt32LE(4),
    address: message.payload.readUInt8(0) === AF.inet6 ? ipv6OfBytes(address) : address.readUInt32BE(0),
    prefixLength: message.payload.readUInt8(1),
    isLinkLocal: message.payload.readUInt8(3) === ROUTE.scopeLink,
  };
}

/**
 * The destination of a unicast route of the main table; undefined for all others, and for the default route.
 */
export function readRoute(message: NetlinkMessage): { base: number; prefixLength: number } | undefined {
  const attributes = decodeAttributes(message.payload.subarray(12));
  const prefixLength = message.payload.readUInt8(1);
  const table = attributes.get(RTA.table)?.readUInt32LE(0) ?? message.payload.readUInt8(4);
  const base = attributes.get(RTA.destination)?.readUInt32BE(0);
  if (base === undefined || table !== ROUTE.tableMain || message.payload.readUInt8(7) !== ROUTE.typeUnicast) {
    return undefined;
  }
  return { base, prefixLength };
}

/** `struct ifaddrmsg`. */
function addressHeader(family: number, prefixLength: number, index: number): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(family, 0);
  header.writeUInt8(prefixLength, 1);
  header.writeUInt32LE(index, 4);
  return header;
}

/** `struct rtmsg`. */
function routeHeader(family: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt8(family, 0);
  return header;
}

function familyOf(address: IpAddress): number {
  return isIpv4(address) ? AF.inet : AF.inet6;
}

import { addressBytes, isIpv4, subnetOfInterface } from '../../../daemon/base/addresses/ip.ts';
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
  newRule: 32,
};
const IFA = { address: 1, local: 2, broadcast: 4, flags: 8 };
/** No duplicate address detection: the daemon assigns addresses, and nothing is to wait a second for them. */
const IFA_FLAG_NODAD = 2;
const RTA = { destination: 1, outLink: 4, gateway: 5, priority: 6, source: 7, table: 15 };
const FRA = { source: 2, priority: 6, suppressPrefix: 14, table: 15, protocol: 22, sourcePorts: 23 };
const AF = { unspecified: 0, inet: 2, inet6: 10 };
/** FR_ACT_TO_TBL */
const RULE_TO_TABLE = 1;
/** Routes of a namespace that are in no other table. */
export const MAIN_TABLE = 254;
const UDP = 17;
/** The host's own calls to ::1 take the loopback interface, whose metric is 0. */
const BEHIND_LOOPBACK = 2048;
const ROUTE = {
  tableOther: 252,
  tableLocal: 255,
  protocolBoot: 3,
  scopeUniverse: 0,
  scopeLink: 253,
  scopeNowhere: 255,
  typeUnicast: 1,
  typeLocal: 2,
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

/**
 * The routes of a table of their own, made or replaced: `from`'s subnet on this link, and all else by way of the
 * router, both with this address where a socket has chosen none.
 */
export function setTableRoutes(
  table: number,
  index: number,
  from: InterfaceAddress,
  router: IpAddress,
): NetlinkRequest[] {
  const own = [
    attribute.u32(RTA.table, table),
    attribute.u32(RTA.outLink, index),
    attribute.bytes(RTA.source, addressBytes(from.address)),
  ];
  const family = familyOf(from.address);
  const subnet = subnetOfInterface(from);
  const there = tableRoute(family, isIpv4(from.address) ? ROUTE.scopeLink : ROUTE.scopeUniverse, [
    attribute.bytes(RTA.destination, addressBytes(subnet.base)),
    ...own,
  ]);
  there.header.writeUInt8(subnet.prefixLength, 1);
  const beyond = tableRoute(family, ROUTE.scopeUniverse, [
    attribute.bytes(RTA.gateway, addressBytes(router)),
    ...own,
  ]);
  return [there, beyond];
}

function tableRoute(family: number, scope: number, attributes: Attribute[]): NetlinkRequest {
  const request = defaultRoute(family, scope, attributes);
  // The attribute says which.
  request.header.writeUInt8(ROUTE.tableOther, 4);
  return request;
}

/**
 * Lets answers to this host's ::1 come in by a link, where the firewall has led calls from there: Linux looks for ::1
 * on the link that a packet came by only. Packets that are for ::1 on the link itself are dropped before as ever.
 */
export function setLoopbackRoute6(index: number): NetlinkRequest {
  const header = routeHeader(AF.inet6);
  const loopback = ipv6Bytes(1n);
  header.writeUInt8(8 * loopback.length, 1);
  header.writeUInt8(ROUTE.tableLocal, 4);
  header.writeUInt8(ROUTE.protocolBoot, 5);
  header.writeUInt8(ROUTE.typeLocal, 7);
  const attributes = [
    attribute.bytes(RTA.destination, loopback),
    attribute.u32(RTA.outLink, index),
    attribute.u32(RTA.priority, BEHIND_LOOPBACK),
  ];
  return { type: RTM.newRoute, flags: FLAG.create | FLAG.replace, header, attributes };
}

/** What a rule of routing holds for: packets from an address, or datagrams of a socket at a port. */
export type RuleOf = { from: IpAddress } | { udpPort: number; family: 'ipv4' | 'ipv6' };

/**
 * Routes these by a table, before rules with a higher number. `suppressDefault`: its default route does not count. One
 * that is there already fails with EEXIST.
 */
export function newRule(
  of: RuleOf,
  { table, priority, suppressDefault }: { table: number; priority: number; suppressDefault?: boolean },
): NetlinkRequest {
  const isIpv6 = 'from' in of ? !isIpv4(of.from) : of.family === 'ipv6';
  const header = Buffer.alloc(12);
  header.writeUInt8(isIpv6 ? AF.inet6 : AF.inet, 0);
  header.writeUInt8(ROUTE.tableOther, 4);
  header.writeUInt8(RULE_TO_TABLE, 7);
  const attributes = [attribute.u32(FRA.table, table), attribute.u32(FRA.priority, priority)];
  if (suppressDefault === true) {
    attributes.push(attribute.u32(FRA.suppressPrefix, 0));
  }
  if ('from' in of) {
    const bytes = addressBytes(of.from);
    header.writeUInt8(8 * bytes.length, 2);
    attributes.push(attribute.bytes(FRA.source, bytes));
  } else {
    const range = Buffer.alloc(4);
    range.writeUInt16LE(of.udpPort, 0);
    range.writeUInt16LE(of.udpPort, 2);
    attributes.push(attribute.u8(FRA.protocol, UDP), attribute.bytes(FRA.sourcePorts, range));
  }
  return { type: RTM.newRule, flags: FLAG.create | FLAG.exclusive, header, attributes };
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
  header.writeUInt8(MAIN_TABLE, 4);
  header.writeUInt8(ROUTE.protocolBoot, 5);
  header.writeUInt8(scope, 6);
  header.writeUInt8(ROUTE.typeUnicast, 7);
  return { type: RTM.newRoute, flags: FLAG.create | FLAG.replace, header, attributes };
}

/** Fails with ESRCH when there is none. */
export function deleteDefaultRoute(family: 'ipv4' | 'ipv6'): NetlinkRequest {
  const header = routeHeader(family === 'ipv4' ? AF.inet : AF.inet6);
  header.writeUInt8(MAIN_TABLE, 4);
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
  if (base === undefined || table !== MAIN_TABLE || message.payload.readUInt8(7) !== ROUTE.typeUnicast) {
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

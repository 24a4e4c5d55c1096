import { isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { InterfaceAddress, IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { ipv6Bytes, ipv6OfBytes } from '../../../daemon/base/addresses/ipv6.ts';
import { attribute, attributeText, decodeAttributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';
import { FLAG } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/**
 * Links, addresses and routes as rtnetlink messages (rtnetlink(7), linux/if_link.h). Pure: builders of
 * requests and readers of answers. Addresses are numbers (IPv4) or bigints (IPv6).
 */
const RTM = {
  newLink: 16,
  deleteLink: 17,
  getLink: 18,
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
  newRoute: 24,
  deleteRoute: 25,
  getRoute: 26,
};
const IFLA = { address: 1, name: 3, mtu: 4, link: 5, master: 10, linkInfo: 18, alias: 20, namespaceFd: 28 };
const IFLA_INFO = { kind: 1, data: 2, portKind: 4, portData: 5 };
const IFLA_BRIDGE_PORT = { hairpin: 4, isolated: 33 };
const IFLA_BRIDGE_STP = 5;
const IFLA_MACVLAN_MODE = 1;
const IFLA_IPVLAN = { mode: 1, flags: 2 };
const IFLA_VLAN_ID = 1;
const VETH_PEER = 1;
const IFA = { address: 1, local: 2, broadcast: 4, flags: 8 };
/** No duplicate address detection: addresses are ours to give, and nobody waits a second for them. */
const IFA_FLAG_NODAD = 2;
const RTA = { destination: 1, outLink: 4, gateway: 5, table: 15 };
const INTERFACE_UP = 1;
const AF = { unspecified: 0, inet: 2, inet6: 10 };
const ROUTE = {
  tableMain: 254,
  protocolBoot: 3,
  scopeUniverse: 0,
  scopeLink: 253,
  scopeNowhere: 255,
  typeUnicast: 1,
};

/** The loopback interface has this index in every network namespace. */
export const LOOPBACK_INDEX = 1;

/** A veth pair: our end here, the other end born in another network namespace. */
export interface VethPair {
  name: string;
  /** Index of the bridge that our end joins. */
  master: number;
  mtu: number;
  peer: { name: string; mac: Buffer; namespaceFd: number };
}

/**
 * Our end is up and in its bridge when the kernel has answered; the peer cannot be brought up from here (ENOTCONN). Its
 * index is the kernel's choice: with tunnel modules loaded (ipip, sit, ...) the low ones are taken in every namespace.
 */
export function newVethPair(pair: VethPair): NetlinkRequest {
  const peer = attribute.nested(
    VETH_PEER,
    [
      attribute.text(IFLA.name, pair.peer.name),
      attribute.u32(IFLA.mtu, pair.mtu),
      attribute.bytes(IFLA.address, pair.peer.mac),
      attribute.u32(IFLA.namespaceFd, pair.peer.namespaceFd),
    ],
    interfaceHeader({}),
  );
  return {
    type: RTM.newLink,
    flags: FLAG.create | FLAG.exclusive,
    header: interfaceHeader({ up: true }),
    attributes: [
      attribute.text(IFLA.name, pair.name),
      attribute.u32(IFLA.mtu, pair.mtu),
      attribute.u32(IFLA.master, pair.master),
      linkInfo('veth', [peer]),
    ],
  };
}

/** Without spanning tree: a port forwards from its first packet on. */
export function newBridge(bridge: { name: string; mtu: number; mac: Buffer }): NetlinkRequest {
  return {
    type: RTM.newLink,
    flags: FLAG.create | FLAG.exclusive,
    header: interfaceHeader({ up: true }),
    attributes: [
      attribute.text(IFLA.name, bridge.name),
      attribute.u32(IFLA.mtu, bridge.mtu),
      attribute.bytes(IFLA.address, bridge.mac),
      linkInfo('bridge', [attribute.u32(IFLA_BRIDGE_STP, 0)]),
    ],
  };
}

/** linux/if_link.h, enum macvlan_mode; uapi IPVLAN_MODE_*, IPVLAN_F_*. */
const MACVLAN_MODES = { private: 1, vepa: 2, bridge: 4, passthru: 8 } as const;
const IPVLAN_MODES = { l2: 0, l3: 1, l3s: 2 } as const;
const IPVLAN_FLAGS = { bridge: 0, private: 1, vepa: 2 } as const;

/** A link on top of another: with a MAC of its own, or with that of its parent. */
export type ChildLink =
  | { kind: 'macvlan'; mode: keyof typeof MACVLAN_MODES }
  | { kind: 'ipvlan'; mode: keyof typeof IPVLAN_MODES; flag: keyof typeof IPVLAN_FLAGS };

/**
 * A link on top of `parent` (an index here), born in another network namespace, which chooses its index. Linux 6.1,
 * unlike 6.18, looks for its name and its index in this namespace first, and fails with EEXIST when it finds either: no
 * link here may have the name. Fails with ENOTSUP on a kernel without the module.
 */
export function newChildLink(
  link: ChildLink,
  place: {
    parent: number;
    /** 0 = the parent's. */
    mtu: number;
    peer: Omit<VethPair['peer'], 'index'>;
  },
): NetlinkRequest {
  const { parent, mtu, peer } = place;
  return {
    type: RTM.newLink,
    flags: FLAG.create | FLAG.exclusive,
    header: interfaceHeader({}),
    attributes: [
      attribute.text(IFLA.name, peer.name),
      attribute.u32(IFLA.link, parent),
      ...(link.kind === 'macvlan' ? [attribute.bytes(IFLA.address, peer.mac)] : []),
      attribute.u32(IFLA.namespaceFd, peer.namespaceFd),
      ...(mtu === 0 ? [] : [attribute.u32(IFLA.mtu, mtu)]),
      childInfo(link),
    ],
  };
}

function childInfo(link: ChildLink): Attribute {
  return link.kind === 'macvlan'
    ? linkInfo('macvlan', [attribute.u32(IFLA_MACVLAN_MODE, MACVLAN_MODES[link.mode])])
    : linkInfo('ipvlan', [
        attribute.u16(IFLA_IPVLAN.mode, IPVLAN_MODES[link.mode]),
        attribute.u16(IFLA_IPVLAN.flags, IPVLAN_FLAGS[link.flag]),
      ]);
}

/** A link that leads nowhere. Fails with ENOTSUP on a kernel without the module. */
export function newDummy(name: string): NetlinkRequest {
  return {
    type: RTM.newLink,
    flags: FLAG.create | FLAG.exclusive,
    header: interfaceHeader({ up: true }),
    attributes: [attribute.text(IFLA.name, name), linkInfo('dummy', [])],
  };
}

/** The frames of `parent` that carry this VLAN's tag. Fails with ENOTSUP on a kernel without the module. */
export function newVlan(name: string, vlan: { parent: number; id: number }): NetlinkRequest {
  return {
    type: RTM.newLink,
    flags: FLAG.create | FLAG.exclusive,
    header: interfaceHeader({ up: true }),
    attributes: [
      attribute.text(IFLA.name, name),
      attribute.u32(IFLA.link, vlan.parent),
      linkInfo('vlan', [attribute.u16(IFLA_VLAN_ID, vlan.id)]),
    ],
  };
}

export function setLinkUp(index: number): NetlinkRequest {
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index, up: true }), attributes: [] };
}

/** Puts a link into a bridge; master 0 takes it out, which also makes the bridge forget its addresses. */
export function setLinkMaster(index: number, master: number): NetlinkRequest {
  const attributes = [attribute.u32(IFLA.master, master)];
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index }), attributes };
}

/** How a port of a bridge behaves. */
export interface BridgePort {
  /**
   * Lets the bridge send a frame back through the port that it came from: a container that calls its own
   * published port, where the host hands bridged packets to the firewall (bridge-nf-call-iptables).
   */
  hairpin: boolean;
  /** No frame passes between two isolated ports of a bridge. */
  isolated: boolean;
}

export function setBridgePort(name: string, port: BridgePort): NetlinkRequest {
  return {
    type: RTM.newLink,
    flags: 0,
    header: interfaceHeader({}),
    attributes: [
      attribute.text(IFLA.name, name),
      attribute.nested(IFLA.linkInfo, [
        attribute.text(IFLA_INFO.portKind, 'bridge'),
        attribute.nested(IFLA_INFO.portData, [
          attribute.u8(IFLA_BRIDGE_PORT.hairpin, port.hairpin ? 1 : 0),
          attribute.u8(IFLA_BRIDGE_PORT.isolated, port.isolated ? 1 : 0),
        ]),
      ]),
    ],
  };
}

/** Of a link that is down. */
export function setLinkName(index: number, name: string): NetlinkRequest {
  const attributes = [attribute.text(IFLA.name, name)];
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index }), attributes };
}

/** A text of ours at a link (IFALIASZ: at most 255 bytes), which tells whose it is. */
export function setLinkAlias(name: string, alias: string): NetlinkRequest {
  const attributes = [attribute.text(IFLA.name, name), attribute.text(IFLA.alias, alias)];
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({}), attributes };
}

export function deleteLink(name: string): NetlinkRequest {
  const attributes = [attribute.text(IFLA.name, name)];
  return { type: RTM.deleteLink, flags: 0, header: interfaceHeader({}), attributes };
}

/** One link by name, or (dumped, without a name) all of them. */
export function getLink(name?: string): NetlinkRequest {
  const attributes = name === undefined ? [] : [attribute.text(IFLA.name, name)];
  return { type: RTM.getLink, flags: 0, header: interfaceHeader({}), attributes };
}

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
          attribute.u32be(IFA.broadcast, broadcastOf(address, prefixLength)),
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
  const attributes = [attribute.bytes(IFA.local, bytesOf(address))];
  const header = addressHeader(familyOf(address), prefixLength, index);
  return { type: RTM.deleteAddress, flags: 0, header, attributes };
}

/** To be dumped: of both families. */
export function getAddresses(): NetlinkRequest {
  return { type: RTM.getAddress, flags: 0, header: addressHeader(AF.unspecified, 0, 0), attributes: [] };
}

/** Replaces the default route of the gateway's family, or makes it. */
export function setDefaultRoute(gateway: IpAddress): NetlinkRequest {
  const via = [attribute.bytes(RTA.gateway, bytesOf(gateway))];
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

export interface Link {
  index: number;
  name: string;
  up: boolean;
  /** 0 = in no bridge. */
  master: number;
  /** `bridge`, `veth`, ...; empty for hardware. */
  kind: string;
  /** What `setLinkAlias` put there; empty when nothing. */
  alias: string;
}

export function readLink(message: NetlinkMessage): Link {
  const attributes = decodeAttributes(message.payload.subarray(16));
  const info = decodeAttributes(attributes.get(IFLA.linkInfo) ?? Buffer.alloc(0));
  return {
    index: message.payload.readInt32LE(4),
    name: attributeText(attributes.get(IFLA.name)),
    up: (message.payload.readUInt32LE(8) & INTERFACE_UP) !== 0,
    master: attributes.get(IFLA.master)?.readUInt32LE(0) ?? 0,
    kind: attributeText(info.get(IFLA_INFO.kind)),
    alias: attributeText(attributes.get(IFLA.alias)),
  };
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

function linkInfo(kind: string, data: readonly Attribute[]): Attribute {
  return attribute.nested(IFLA.linkInfo, [
    attribute.text(IFLA_INFO.kind, kind),
    attribute.nested(IFLA_INFO.data, data),
  ]);
}

/** `struct ifinfomsg`. */
function interfaceHeader(options: { index?: number; up?: boolean }): Buffer {
  const header = Buffer.alloc(16);
  header.writeInt32LE(options.index ?? 0, 4);
  header.writeUInt32LE(options.up === true ? INTERFACE_UP : 0, 8);
  header.writeUInt32LE(options.up === true ? INTERFACE_UP : 0, 12);
  return header;
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

function bytesOf(address: IpAddress): Buffer {
  if (!isIpv4(address)) {
    return ipv6Bytes(address);
  }
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(address);
  return bytes;
}

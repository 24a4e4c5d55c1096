import { attribute, attributeText, decodeAttributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';
import { FLAG } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/**
 * Links, addresses and routes as rtnetlink messages (rtnetlink(7), linux/if_link.h). Pure: builders of
 * requests and readers of answers. IPv4 addresses are 32-bit numbers.
 */
const RTM = {
  newLink: 16,
  deleteLink: 17,
  getLink: 18,
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
  newRoute: 24,
  getRoute: 26,
};
const IFLA = { address: 1, name: 3, mtu: 4, master: 10, linkInfo: 18, namespaceFd: 28 };
const IFLA_INFO = { kind: 1, data: 2, portKind: 4, portData: 5 };
const IFLA_BRIDGE_PORT_HAIRPIN = 4;
const IFLA_BRIDGE_STP = 5;
const VETH_PEER = 1;
const IFA = { address: 1, local: 2, broadcast: 4 };
const RTA = { destination: 1, gateway: 5, table: 15 };
const INTERFACE_UP = 1;
const AF_INET = 2;
const ROUTE = { tableMain: 254, protocolBoot: 3, scopeUniverse: 0, typeUnicast: 1 };

/** The loopback interface has this index in every network namespace. */
export const LOOPBACK_INDEX = 1;

/** A veth pair: our end here, the other end born in another network namespace. */
export interface VethPair {
  name: string;
  /** Index of the bridge that our end joins. */
  master: number;
  mtu: number;
  peer: { name: string; index: number; mac: Buffer; namespaceFd: number };
}

/**
 * Our end is up and in its bridge when the kernel has answered; the peer cannot be brought up from here
 * (ENOTCONN).
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
    interfaceHeader({ index: pair.peer.index }),
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

export function setLinkUp(index: number): NetlinkRequest {
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index, up: true }), attributes: [] };
}

/** Puts a link into a bridge; master 0 takes it out, which also makes the bridge forget its addresses. */
export function setLinkMaster(index: number, master: number): NetlinkRequest {
  const attributes = [attribute.u32(IFLA.master, master)];
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index }), attributes };
}

/**
 * Lets a bridge send a frame back through the port that it came from: a container that calls its own
 * published port, where the host hands bridged packets to the firewall (bridge-nf-call-iptables).
 */
export function setHairpin(name: string): NetlinkRequest {
  return {
    type: RTM.newLink,
    flags: 0,
    header: interfaceHeader({}),
    attributes: [
      attribute.text(IFLA.name, name),
      attribute.nested(IFLA.linkInfo, [
        attribute.text(IFLA_INFO.portKind, 'bridge'),
        attribute.nested(IFLA_INFO.portData, [attribute.u8(IFLA_BRIDGE_PORT_HAIRPIN, 1)]),
      ]),
    ],
  };
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
export function newAddress(index: number, address: number, prefixLength: number): NetlinkRequest {
  const hostBits = 2 ** (32 - prefixLength) - 1;
  const broadcast = address - (address % (hostBits + 1)) + hostBits;
  return {
    type: RTM.newAddress,
    flags: FLAG.create | FLAG.replace,
    header: addressHeader(prefixLength, index),
    attributes: [
      attribute.u32be(IFA.local, address),
      attribute.u32be(IFA.address, address),
      attribute.u32be(IFA.broadcast, broadcast),
    ],
  };
}

export function deleteAddress({ index, address, prefixLength }: InterfaceAddress): NetlinkRequest {
  const attributes = [attribute.u32be(IFA.local, address)];
  return { type: RTM.deleteAddress, flags: 0, header: addressHeader(prefixLength, index), attributes };
}

/** To be dumped. */
export function getAddresses(): NetlinkRequest {
  return { type: RTM.getAddress, flags: 0, header: addressHeader(0, 0), attributes: [] };
}

export function newDefaultRoute(gateway: number): NetlinkRequest {
  const header = routeHeader();
  header.writeUInt8(ROUTE.tableMain, 4);
  header.writeUInt8(ROUTE.protocolBoot, 5);
  header.writeUInt8(ROUTE.scopeUniverse, 6);
  header.writeUInt8(ROUTE.typeUnicast, 7);
  const attributes = [attribute.u32be(RTA.gateway, gateway)];
  return { type: RTM.newRoute, flags: FLAG.create | FLAG.exclusive, header, attributes };
}

/** To be dumped. */
export function getRoutes(): NetlinkRequest {
  return { type: RTM.getRoute, flags: 0, header: routeHeader(), attributes: [] };
}

export interface Link {
  index: number;
  name: string;
  up: boolean;
  /** 0 = in no bridge. */
  master: number;
  /** `bridge`, `veth`, ...; empty for hardware. */
  kind: string;
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
  };
}

export interface InterfaceAddress {
  index: number;
  address: number;
  prefixLength: number;
}

export function readAddress(message: NetlinkMessage): InterfaceAddress {
  const attributes = decodeAttributes(message.payload.subarray(8));
  const address = attributes.get(IFA.local) ?? attributes.get(IFA.address);
  return {
    index: message.payload.readUInt32LE(4),
    address: address?.readUInt32BE(0) ?? 0,
    prefixLength: message.payload.readUInt8(1),
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
function addressHeader(prefixLength: number, index: number): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(AF_INET, 0);
  header.writeUInt8(prefixLength, 1);
  header.writeUInt32LE(index, 4);
  return header;
}

/** `struct rtmsg`. */
function routeHeader(): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt8(AF_INET, 0);
  return header;
}

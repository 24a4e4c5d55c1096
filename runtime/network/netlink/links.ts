import { attribute, attributeText, decodeAttributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';
import { FLAG } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/** Links as rtnetlink messages (rtnetlink(7), linux/if_link.h). Pure: builders of requests and readers of answers. */
export const RTM = { newLink: 16, deleteLink: 17, getLink: 18 };
export const IFLA = {
  address: 1,
  name: 3,
  mtu: 4,
  link: 5,
  master: 10,
  linkInfo: 18,
  alias: 20,
  namespaceFd: 28,
};
export const IFLA_INFO = { kind: 1, data: 2, portKind: 4, portData: 5 };
const IFLA_BRIDGE_PORT = { hairpin: 4, isolated: 33 };
const IFLA_BRIDGE = { stp: 5, snooping: 23 };
const IFLA_MACVLAN_MODE = 1;
const IFLA_IPVLAN = { mode: 1, flags: 2 };
const IFLA_VLAN_ID = 1;
const VETH_PEER = 1;
const INTERFACE_UP = 1;

/** The loopback interface has this index in every network namespace. */
export const LOOPBACK_INDEX = 1;

/** A veth pair: our end here, the other end born in another network namespace. */
export interface VethPair {
  name: string;
  /** Index of the bridge that our end joins; 0 = none. */
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
export function newBridge(bridge: {
  name: string;
  mtu: number;
  mac: Buffer;
  /** false = multicast goes to all, without listening who wants it. */
  snooping?: boolean;
}): NetlinkRequest {
  return {
    type: RTM.newLink,
    flags: FLAG.create | FLAG.exclusive,
    header: interfaceHeader({ up: true }),
    attributes: [
      attribute.text(IFLA.name, bridge.name),
      attribute.u32(IFLA.mtu, bridge.mtu),
      attribute.bytes(IFLA.address, bridge.mac),
      linkInfo('bridge', [
        attribute.u32(IFLA_BRIDGE.stp, 0),
        ...(bridge.snooping === false ? [attribute.u8(IFLA_BRIDGE.snooping, 0)] : []),
      ]),
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

export function setLinkMac(index: number, mac: Buffer): NetlinkRequest {
  const attributes = [attribute.bytes(IFLA.address, mac)];
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index }), attributes };
}

export function setLinkMtu(index: number, mtu: number): NetlinkRequest {
  const attributes = [attribute.u32(IFLA.mtu, mtu)];
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index }), attributes };
}

/** Of a link that is down. */
export function setLinkName(index: number, name: string): NetlinkRequest {
  const attributes = [attribute.text(IFLA.name, name)];
  return { type: RTM.newLink, flags: 0, header: interfaceHeader({ index }), attributes };
}

/** A text of ours at a link (IFALIASZ: at most 255 bytes), by which its owner is found. */
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

export interface Link {
  index: number;
  name: string;
  up: boolean;
  mtu: number;
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
    mtu: attributes.get(IFLA.mtu)?.readUInt32LE(0) ?? 0,
    master: attributes.get(IFLA.master)?.readUInt32LE(0) ?? 0,
    kind: attributeText(info.get(IFLA_INFO.kind)),
    alias: attributeText(attributes.get(IFLA.alias)),
  };
}

/** What a link is, and its settings as such. */
export function linkInfo(kind: string, data: readonly Attribute[]): Attribute {
  return attribute.nested(IFLA.linkInfo, [
    attribute.text(IFLA_INFO.kind, kind),
    attribute.nested(IFLA_INFO.data, data),
  ]);
}

/** `struct ifinfomsg`. */
export function interfaceHeader(options: { index?: number; up?: boolean }): Buffer {
  const header = Buffer.alloc(16);
  header.writeInt32LE(options.index ?? 0, 4);
  header.writeUInt32LE(options.up === true ? INTERFACE_UP : 0, 8);
  header.writeUInt32LE(options.up === true ? INTERFACE_UP : 0, 12);
  return header;
}

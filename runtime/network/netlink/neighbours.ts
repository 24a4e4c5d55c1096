import { addressBytes, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { ipv6OfBytes } from '../../../daemon/base/addresses/ipv6.ts';
import { attribute, decodeAttributes } from './attributes.ts';
import { FLAG } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/**
 * Neighbours and forwarding entries as rtnetlink messages (rtnetlink(7), linux/neighbour.h). Pure: builders of requests
 * and readers of answers.
 */
const RTM = { newNeighbour: 28, deleteNeighbour: 29, getNeighbour: 30 };
const NDA = { destination: 1, linkAddress: 2, link: 8 };
const NUD_PERMANENT = 0x80;
/** The entry of the link itself, or of the bridge that it is a port of. */
const NTF = { self: 2, bridge: 4 };
const AF = { inet: 2, inet6: 10, bridge: 7 };

/** A MAC, and the host behind a VXLAN device that has it. */
export interface ForwardingEntry {
  mac: Buffer;
  host: IpAddress;
}

/** An address on a link, and its MAC. */
export interface Neighbour {
  address: IpAddress;
  mac: Buffer;
}

/** Frames for this MAC go to this host. Replaces one with another host. */
export function setForwarding(index: number, { mac, host }: ForwardingEntry): NetlinkRequest {
  return {
    type: RTM.newNeighbour,
    flags: FLAG.create | FLAG.replace,
    header: neighbourHeader(AF.bridge, { index, state: NUD_PERMANENT, flags: NTF.self }),
    attributes: [attribute.bytes(NDA.linkAddress, mac), attribute.bytes(NDA.destination, addressBytes(host))],
  };
}

/** With all its hosts. Fails with ENOENT when there is none. */
export function deleteForwarding(index: number, mac: Buffer): NetlinkRequest {
  return {
    type: RTM.deleteNeighbour,
    flags: 0,
    header: neighbourHeader(AF.bridge, { index, flags: NTF.self }),
    attributes: [attribute.bytes(NDA.linkAddress, mac)],
  };
}

/** What the bridge learned of a MAC behind this port of it. Fails with ENOENT when that is nothing. */
export function forgetLearned(index: number, mac: Buffer): NetlinkRequest {
  return {
    type: RTM.deleteNeighbour,
    flags: 0,
    header: neighbourHeader(AF.bridge, { index, flags: NTF.bridge }),
    attributes: [attribute.bytes(NDA.linkAddress, mac)],
  };
}

/** To be dumped: entries of the link, and of the bridge for it as a port. */
export function getForwarding(index: number): NetlinkRequest {
  return {
    type: RTM.getNeighbour,
    flags: 0,
    header: neighbourHeader(AF.bridge, { index }),
    attributes: [],
  };
}

/** A permanent entry; replaces one with another MAC. */
export function setNeighbour(index: number, { address, mac }: Neighbour): NetlinkRequest {
  return {
    type: RTM.newNeighbour,
    flags: FLAG.create | FLAG.replace,
    header: neighbourHeader(familyOf(address), { index, state: NUD_PERMANENT }),
    attributes: [
      attribute.bytes(NDA.destination, addressBytes(address)),
      attribute.bytes(NDA.linkAddress, mac),
    ],
  };
}

/** Fails with ENOENT when there is none. */
export function deleteNeighbour(index: number, address: IpAddress): NetlinkRequest {
  return {
    type: RTM.deleteNeighbour,
    flags: 0,
    header: neighbourHeader(familyOf(address), { index }),
    attributes: [attribute.bytes(NDA.destination, addressBytes(address))],
  };
}

/** To be dumped: those of the link, of one family. */
export function getNeighbours(index: number, family: 'ipv4' | 'ipv6'): NetlinkRequest {
  return {
    type: RTM.getNeighbour,
    flags: 0,
    header: neighbourHeader(family === 'ipv4' ? AF.inet : AF.inet6, {}),
    attributes: [attribute.u32(NDA.link, index)],
  };
}

/** An entry of the link itself; undefined for all others. */
export function readForwarding(
  message: NetlinkMessage,
): { mac: Buffer; host: IpAddress | undefined } | undefined {
  const attributes = decodeAttributes(message.payload.subarray(12));
  const mac = attributes.get(NDA.linkAddress);
  if (mac === undefined || (message.payload.readUInt8(10) & NTF.self) === 0) {
    return undefined;
  }
  return { mac, host: readAddress(attributes.get(NDA.destination)) };
}

/** undefined for multicast and broadcast, which the kernel notes by itself. */
export function readNeighbour(
  message: NetlinkMessage,
): { address: IpAddress; mac: Buffer | undefined; isPermanent: boolean } | undefined {
  const attributes = decodeAttributes(message.payload.subarray(12));
  const address = readAddress(attributes.get(NDA.destination));
  if (address === undefined || message.payload.readUInt8(11) !== RTN_UNICAST) {
    return undefined;
  }
  const isPermanent = (message.payload.readUInt16LE(8) & NUD_PERMANENT) !== 0;
  return { address, mac: attributes.get(NDA.linkAddress), isPermanent };
}

const RTN_UNICAST = 1;

function readAddress(bytes: Buffer | undefined): IpAddress | undefined {
  if (bytes === undefined) {
    return undefined;
  }
  return bytes.length === 16 ? ipv6OfBytes(bytes) : bytes.readUInt32BE(0);
}

function familyOf(address: IpAddress): number {
  return isIpv4(address) ? AF.inet : AF.inet6;
}

/** `struct ndmsg`. */
function neighbourHeader(
  family: number,
  options: { index?: number; state?: number; flags?: number },
): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt8(family, 0);
  header.writeInt32LE(options.index ?? 0, 4);
  header.writeUInt16LE(options.state ?? 0, 8);
  header.writeUInt8(options.flags ?? 0, 10);
  return header;
}

import { addressBytes, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { attribute, decodeAttributes } from './attributes.ts';
import type { Attribute } from './attributes.ts';
import { IFLA, IFLA_INFO, RTM, interfaceHeader, linkInfo } from './links.ts';
import { FLAG } from './netlink.ts';
import type { NetlinkMessage, NetlinkRequest } from './netlink.ts';

/** VXLAN devices as rtnetlink messages (linux/if_link.h, IFLA_VXLAN_*). Pure. */
const VXLAN = {
  id: 1,
  local: 4,
  learning: 7,
  sourcePorts: 10,
  proxy: 11,
  shortCircuit: 12,
  missesOfMacs: 13,
  missesOfAddresses: 14,
  port: 15,
  group6: 16,
  local6: 17,
  checksum: 18,
  noChecksum6Sent: 19,
  noChecksum6Received: 20,
  remoteChecksumSent: 21,
  remoteChecksumReceived: 22,
  metadata: 25,
};

export interface VxlanSettings {
  /** 24 bits. */
  vni: number;
  /** UDP port. */
  port: number;
  /** Of this host, which also tells the family that packets between hosts have. */
  local: IpAddress;
  /** UDP ports that it sends from. */
  sources: { first: number; last: number };
}

/**
 * A device that is born in another network namespace, while its UDP socket stays in this one. Down: the socket is made
 * when it is brought up. It learns nothing, and answers ARP and neighbour solicitations from its own table.
 *
 * Fails with EEXIST where another device of this namespace has the VNI at that port, wherever it was moved to, and on
 * Linux 6.1 where a link here has the name.
 */
export function newVxlan(
  place: { name: string; mtu: number; namespaceFd: number },
  settings: VxlanSettings,
): NetlinkRequest {
  return {
    type: RTM.newLink,
    flags: FLAG.create | FLAG.exclusive,
    header: interfaceHeader({}),
    attributes: [
      attribute.text(IFLA.name, place.name),
      attribute.u32(IFLA.mtu, place.mtu),
      attribute.u32(IFLA.namespaceFd, place.namespaceFd),
      linkInfo('vxlan', [
        ...vxlanAttributes(settings),
        // Without it the kernel takes an IPv6 device for one of IPv4. It does not tell it.
        ...(isIpv4(settings.local) ? [] : [attribute.bytes(VXLAN.group6, Buffer.alloc(16))]),
      ]),
    ],
  };
}

/** Whether a link, as the kernel describes it, is this device. */
export function isVxlan(message: NetlinkMessage, settings: VxlanSettings): boolean {
  const info = decodeAttributes(
    decodeAttributes(message.payload.subarray(16)).get(IFLA.linkInfo) ?? Buffer.alloc(0),
  );
  const found = decodeAttributes(info.get(IFLA_INFO.data) ?? Buffer.alloc(0));
  return vxlanAttributes(settings).every(({ type, value }) => found.get(type)?.equals(value) === true);
}

/**
 * All of them, also those that are the kernel's defaults: devices of one port that differ in what they take cannot
 * share its socket (EADDRINUSE).
 */
function vxlanAttributes({ vni, port, local, sources }: VxlanSettings): Attribute[] {
  return [
    attribute.u32(VXLAN.id, vni),
    attribute.bytes(isIpv4(local) ? VXLAN.local : VXLAN.local6, addressBytes(local)),
    attribute.bytes(VXLAN.port, portBytes(port)),
    attribute.bytes(VXLAN.sourcePorts, Buffer.concat([portBytes(sources.first), portBytes(sources.last)])),
    attribute.u8(VXLAN.learning, 0),
    attribute.u8(VXLAN.proxy, 1),
    attribute.u8(VXLAN.shortCircuit, 0),
    attribute.u8(VXLAN.missesOfMacs, 0),
    attribute.u8(VXLAN.missesOfAddresses, 0),
    attribute.u8(VXLAN.checksum, 1),
    attribute.u8(VXLAN.noChecksum6Sent, 0),
    attribute.u8(VXLAN.noChecksum6Received, 0),
    attribute.u8(VXLAN.remoteChecksumSent, 0),
    attribute.u8(VXLAN.remoteChecksumReceived, 0),
    attribute.u8(VXLAN.metadata, 0),
  ];
}

function portBytes(port: number): Buffer {
  return Buffer.of(port >> 8, port & 0xff);
}

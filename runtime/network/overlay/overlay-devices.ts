import { createHash } from 'node:crypto';
import { errnoOf, internal } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { addressBytes, formatIp, isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { findLink, linkNamed } from '../links/bridge.ts';
import {
  LOOPBACK_INDEX,
  deleteLink,
  getLink,
  newBridge,
  readLink,
  setLinkMac,
  setLinkMaster,
  setLinkMtu,
  setLinkUp,
} from '../netlink/links.ts';
import type { Link } from '../netlink/links.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { getAddresses, newAddress, readAddress } from '../netlink/routes.ts';
import { isVxlan, newVxlan } from '../netlink/vxlan.ts';
import { sourcePorts } from './encryption/source-ports.ts';
import type { OverlaySettings } from './settings.ts';

/** The bridge has this name in the namespace of every overlay network. */
export const OVERLAY_BRIDGE = 'br0';

/** What VXLAN adds to a packet: Ethernet, IP, UDP and its own header. */
const OVERHEAD = { ipv4: 50, ipv6: 70 };
/** What ESP adds besides, in the words of RFC 4303: header 8, vector 8, trailer 2, integrity check value 16. */
const ESP_OVERHEAD = 34;
/** ESP fills up to multiples of these bytes: what is one before it leaves no room unused. */
const ESP_BLOCK = 4;
/** Of a host whose address is one of its loopback interface, and leaves by any other. */
const ETHERNET_MTU = 1500;

/** Makes or mends the devices of an overlay network; settings have their MTU. */
export class OverlayDevices {
  readonly #host: NetlinkSocket;
  readonly #prefix: string;

  constructor(deps: { host: NetlinkSocket; prefix: string }) {
    this.#host = deps.host;
    this.#prefix = deps.prefix;
  }

  /** On Linux 6.1 no link of the host may have it when the device is made. */
  vxlanName(networkId: string): string {
    return `${this.#prefix}${networkId.slice(0, 10)}`;
  }

  /** What the link with this host's address leaves for containers. */
  mtuOf({ mtu, local, networkId, encrypted }: OverlaySettings): number {
    if (mtu !== 0) {
      return mtu;
    }
    const address = this.#host
      .dump('addresses of the host', getAddresses())
      .map(readAddress)
      .find((each) => each.address === local);
    const link = this.#host
      .dump('interfaces', getLink())
      .map(readLink)
      .find(({ index }) => index === address?.index);
    if (link === undefined) {
      throw internal(
        `overlay network ${networkId}: no interface of this host has the data path address ${formatIp(local)}`,
      );
    }
    const underlay = link.index === LOOPBACK_INDEX ? ETHERNET_MTU : link.mtu;
    const left = underlay - (isIpv4(local) ? OVERHEAD.ipv4 : OVERHEAD.ipv6);
    return encrypted ? floorTo(left - ESP_OVERHEAD, ESP_BLOCK) : left;
  }

  /** Idempotent. Returns the bridge's index. `namespaceFd`: of the namespace that `inside` is in. */
  ensure(inside: NetlinkSocket, namespaceFd: number, settings: OverlaySettings): number {
    const bridge = this.#ensureBridge(inside, settings);
    const vxlan = this.#ensureVxlan(inside, namespaceFd, settings);
    failpoint('overlay.open.up');
    try {
      inside.request(settings.networkId, [
        setLinkUp(LOOPBACK_INDEX),
        ...(vxlan.master === bridge.index ? [] : [setLinkMaster(vxlan.index, bridge.index)]),
        ...(settings.mac === undefined ? [] : [setLinkMac(bridge.index, settings.mac)]),
        ...[vxlan, bridge].flatMap(({ index, mtu }) =>
          mtu === settings.mtu ? [] : [setLinkMtu(index, settings.mtu)],
        ),
        setLinkUp(bridge.index),
        setLinkUp(vxlan.index),
      ]);
    } catch (error) {
      throw explained(error, settings);
    }
    return bridge.index;
  }

  /** The addresses of the network's gateways, which each host answers for itself. */
  address(inside: NetlinkSocket, bridge: number, { networkId, gateways }: OverlaySettings): void {
    failpoint('overlay.open.address');
    inside.request(networkId, [setLinkUp(bridge), ...gateways.map((gateway) => newAddress(bridge, gateway))]);
  }

  #ensureBridge(inside: NetlinkSocket, settings: OverlaySettings): Link {
    const found = findLink(inside, OVERLAY_BRIDGE);
    if (found?.kind === 'bridge') {
      return found;
    }
    failpoint('overlay.open.bridge');
    inside.request(settings.networkId, [
      ...(found === undefined ? [] : [deleteLink(OVERLAY_BRIDGE)]),
      newBridge({
        name: OVERLAY_BRIDGE,
        mtu: settings.mtu,
        mac: settings.mac ?? bridgeMac(settings),
        snooping: false,
      }),
    ]);
    return linkNamed(inside, OVERLAY_BRIDGE);
  }

  #ensureVxlan(inside: NetlinkSocket, namespaceFd: number, settings: OverlaySettings): Link {
    const name = this.vxlanName(settings.networkId);
    const device = { ...settings, sources: sourcePorts(settings.encrypted) };
    const found = findLink(inside, name);
    if (found !== undefined) {
      const [described] = inside.request(name, [getLink(name)]);
      if (described !== undefined && isVxlan(described, device)) {
        return found;
      }
      inside.request(name, [deleteLink(name)]);
    }
    failpoint('overlay.open.vxlan');
    try {
      this.#host.request(name, [newVxlan({ name, mtu: settings.mtu, namespaceFd }, device)]);
    } catch (error) {
      throw explained(error, settings);
    }
    return linkNamed(inside, name);
  }
}

function floorTo(value: number, multiple: number): number {
  return value - (value % multiple);
}

/** One of its own on each host: frames of the bridge itself must not look to another host like its own. */
function bridgeMac({ networkId, local }: { networkId: string; local: IpAddress }): Buffer {
  const digest = createHash('sha256').update(networkId).update(addressBytes(local)).digest();
  // Of no vendor, and not of the form that addresses have theirs of.
  return Buffer.concat([Buffer.of(0x02, 0x62), digest.subarray(0, 4)]);
}

/** An error of the kernel, in words where we know what it means. */
function explained(error: unknown, { networkId, vni, port }: OverlaySettings): unknown {
  const words: Readonly<Record<string, string>> = {
    EADDRINUSE: `UDP port ${port}, the data path port, is in use by another program on this host`,
    EEXIST: `VXLAN network identifier ${vni} is in use on this host at UDP port ${port}`,
    ENOTSUP: 'the kernel of this host has no VXLAN devices',
    EAFNOSUPPORT: 'the kernel of this host has no VXLAN devices over IPv6',
  };
  const reason = words[errnoOf(error) ?? ''];
  return reason === undefined ? error : internal(`overlay network ${networkId}: ${reason}`, { cause: error });
}

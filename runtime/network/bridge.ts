import { writeFileSync } from 'node:fs';
import { errnoOf, internal } from '../../daemon/base/errors.ts';
import { macOfAddress } from '../../daemon/base/ipv4.ts';
import type { Logger } from '../../daemon/base/log.ts';
import type { NetlinkSocket } from './netlink-socket.ts';
import * as rtnetlink from './rtnetlink.ts';
import type { Link } from './rtnetlink.ts';

export interface BridgeSettings {
  /** Interface name, at most 15 bytes. */
  name: string;
  /** The bridge's own address, which containers route through; a 32-bit number. */
  gateway: number;
  prefixLength: number;
  mtu: number;
}

/** The bridge, made or mended: afterwards it exists, is up and has its address. */
export function ensureBridge(host: NetlinkSocket, settings: BridgeSettings, log: Logger): Link {
  const found = findLink(host, settings.name);
  if (found !== undefined && found.kind !== 'bridge') {
    throw internal(`network bridge: interface ${settings.name} exists and is not a bridge`);
  }
  if (found === undefined) {
    const mac = macOfAddress(settings.gateway);
    host.request(settings.name, [rtnetlink.newBridge({ name: settings.name, mtu: settings.mtu, mac })]);
    log.info({ bridge: settings.name }, 'bridge created');
  }
  const link = found ?? findLink(host, settings.name);
  if (link === undefined) {
    throw internal(`network bridge: interface ${settings.name} vanished while it was made`);
  }
  withoutIpv6(settings.name);
  // Lets 127.0.0.1:<published port> of the host reach containers; the firewall keeps containers from the
  // host's 127/8.
  writeFileSync(`/proc/sys/net/ipv4/conf/${settings.name}/route_localnet`, '1');
  host.request(settings.name, [
    rtnetlink.setLinkUp(link.index),
    rtnetlink.newAddress(link.index, settings.gateway, settings.prefixLength),
    ...foreignAddresses(host, link, settings).map(rtnetlink.deleteAddress),
  ]);
  return link;
}

/**
 * Addresses of an earlier configuration: with them the host would go on routing that subnet into the bridge.
 */
function foreignAddresses(
  host: NetlinkSocket,
  link: Link,
  settings: BridgeSettings,
): rtnetlink.InterfaceAddress[] {
  return host
    .dump(settings.name, rtnetlink.getAddresses())
    .map(rtnetlink.readAddress)
    .filter(({ index }) => index === link.index)
    .filter(
      ({ address, prefixLength }) => address !== settings.gateway || prefixLength !== settings.prefixLength,
    );
}

/** The link of this name; undefined when there is none. About 20 microseconds. */
export function findLink(host: NetlinkSocket, name: string): Link | undefined {
  try {
    const [answer] = host.request(name, [rtnetlink.getLink(name)]);
    return answer === undefined ? undefined : rtnetlink.readLink(answer);
  } catch (error) {
    if (errnoOf(error) === 'ENODEV') {
      return undefined;
    }
    throw error;
  }
}

/** Else a container could advertise itself to the host as its IPv6 router. */
function withoutIpv6(bridge: string): void {
  try {
    writeFileSync(`/proc/sys/net/ipv6/conf/${bridge}/disable_ipv6`, '1');
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') {
      throw error;
    }
    // A kernel without IPv6 has nothing to switch off.
  }
}

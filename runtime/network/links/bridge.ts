import { writeFileSync } from 'node:fs';
import { errnoOf, internal } from '../../../daemon/base/errors.ts';
import { isIpv4 } from '../../../daemon/base/addresses/ip.ts';
import type { InterfaceAddress, IpAddress } from '../../../daemon/base/addresses/ip.ts';
import { macOfAddress } from '../../../daemon/base/addresses/ipv4.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import type { NetlinkSocket } from '../netlink/netlink-socket.ts';
import { getLink, newBridge, readLink, setLinkAlias, setLinkUp } from '../netlink/links.ts';
import type { Link } from '../netlink/links.ts';
import { deleteAddress, getAddresses, newAddress, readAddress } from '../netlink/routes.ts';

export interface BridgeSettings {
  /** Interface name, at most 15 bytes. */
  name: string;
  /** Id of its network, kept at the interface; undefined for the default bridge, which is known by its name. */
  networkId?: string;
  /** The default bridge is the administrator's and may have more addresses. */
  isForeign?: boolean;
  /** The bridge's own addresses, which containers route through; at most one of each family. */
  addresses: readonly InterfaceAddress[];
  mtu: number;
  /** Nothing but its own subnets can be reached from it. */
  internal: boolean;
  /** Containers in it reach each other. */
  icc: boolean;
  /** Containers reach other networks with the host's address. */
  masquerade: boolean;
  /** With this one, of its family, in place of that of the interface that the packet leaves by. */
  sources?: readonly IpAddress[];
  /** Its IPv4 address is that of another router in there: the bridge itself gets none, and keeps what it has. */
  inhibitIpv4?: boolean;
  /** What a bridge of the administrator had before: it keeps that, also when networks have the same addresses now. */
  found?: readonly InterfaceAddress[];
}

/** The bridge, made or mended: afterwards it exists, is up and has its addresses. */
export function ensureBridge(
  host: NetlinkSocket,
  settings: BridgeSettings,
  alias: string | undefined,
  log: Logger,
): Link {
  const { name } = settings;
  const found = findLink(host, name);
  if (found !== undefined && found.kind !== 'bridge') {
    throw internal(`network bridge: interface ${name} exists and is not a bridge`);
  }
  if (found === undefined) {
    host.request(name, [
      newBridge({ name, mtu: settings.mtu, mac: macOf(settings) }),
      ...(alias === undefined ? [] : [setLinkAlias(name, alias)]),
    ]);
    log.info({ bridge: name }, 'bridge created');
  }
  const link = found ?? findLink(host, name);
  if (link === undefined) {
    throw internal(`network bridge: interface ${name} vanished while it was made`);
  }
  const isOurs = isMadeHere(settings, link, alias);
  setIpv6(settings, isOurs);
  // Lets 127.0.0.1:<published port> of the host reach containers; the firewall keeps containers from the
  // host's 127/8.
  writeFileSync(`/proc/sys/net/ipv4/conf/${name}/route_localnet`, '1');
  host.request(name, [
    setLinkUp(link.index),
    ...ownAddresses(settings).map((address) => newAddress(link.index, address)),
    ...(isOurs ? foreignAddresses(host, link, settings) : []).map((address) =>
      deleteAddress(link.index, address),
    ),
  ]);
  return link;
}

/** A bridge of another owner keeps what it has: the host may reach its own network by it. */
function isMadeHere(settings: BridgeSettings, link: Link, alias: string | undefined): boolean {
  return settings.isForeign !== true && (alias === undefined || link.alias === alias);
}

/** Those that the bridge itself has. */
function ownAddresses({ addresses, inhibitIpv4 }: BridgeSettings): InterfaceAddress[] {
  return addresses.filter(({ address }) => inhibitIpv4 !== true || !isIpv4(address));
}

/** Those that it has for the network alone, and that go with it. */
export function addedAddresses(bridge: BridgeSettings): InterfaceAddress[] {
  const had = bridge.found ?? [];
  return ownAddresses(bridge).filter((own) => !had.some((each) => isSame(each, own)));
}

/**
 * Takes addresses, these or all, and with them routes, from a bridge on its way out: others may use its subnets now.
 */
export function clearBridge(host: NetlinkSocket, link: Link, only?: readonly InterfaceAddress[]): void {
  const addresses = addressesOf(host, link).filter(
    (address) => only?.some((each) => isSame(each, address)) ?? true,
  );
  if (addresses.length > 0) {
    const requests = addresses.map((address) => deleteAddress(link.index, address));
    host.request(link.name, requests);
  }
}

/**
 * Addresses of an earlier configuration: with them the host would go on routing that subnet into the bridge.
 */
function foreignAddresses(host: NetlinkSocket, link: Link, settings: BridgeSettings): InterfaceAddress[] {
  const mayStay = ({ address }: InterfaceAddress): boolean =>
    settings.inhibitIpv4 === true && isIpv4(address);
  return addressesOf(host, link).filter(
    (found) => !mayStay(found) && !settings.addresses.some((own) => isSame(own, found)),
  );
}

function isSame(one: InterfaceAddress, other: InterfaceAddress): boolean {
  return one.address === other.address && one.prefixLength === other.prefixLength;
}

/** But for those of the link alone (`fe80::`). */
export function addressesOf(host: NetlinkSocket, link: Link): InterfaceAddress[] {
  return host
    .dump(link.name, getAddresses())
    .map(readAddress)
    .filter(({ index, isLinkLocal }) => index === link.index && !isLinkLocal);
}

/** The link of this name; undefined when there is none. About 20 microseconds. */
export function findLink(host: NetlinkSocket, name: string): Link | undefined {
  try {
    const [answer] = host.request(name, [getLink(name)]);
    return answer === undefined ? undefined : readLink(answer);
  } catch (error) {
    if (errnoOf(error) === 'ENODEV') {
      return undefined;
    }
    throw error;
  }
}

/** The link of this name, which was just made. */
export function linkNamed(host: NetlinkSocket, name: string): Link {
  const link = findLink(host, name);
  if (link === undefined) {
    throw internal(`network: interface ${name} vanished while it was made`);
  }
  return link;
}

/** Made from its address: a bridge that is made again has the MAC that its neighbours remember. */
function macOf({ addresses }: BridgeSettings): Buffer {
  const first = addresses.map(({ address }) => address).find(isIpv4);
  return macOfAddress(first ?? 0);
}

/**
 * Off where the network has none: a container could advertise itself to the host as its router. Where it has some the
 * host still listens to no advertisement from there. Of a bridge of another owner only what is needed is set.
 */
function setIpv6({ name, addresses }: BridgeSettings, isOurs: boolean): void {
  const hasIpv6 = addresses.some(({ address }) => !isIpv4(address));
  if (!isOurs && !hasIpv6) {
    return;
  }
  try {
    const folder = `/proc/sys/net/ipv6/conf/${name}`;
    if (hasIpv6 && isOurs) {
      writeFileSync(`${folder}/accept_ra`, '0');
    }
    writeFileSync(`${folder}/disable_ipv6`, hasIpv6 ? '0' : '1');
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' || hasIpv6) {
      throw error;
    }
    // A kernel without IPv6 has nothing to switch off.
  }
}

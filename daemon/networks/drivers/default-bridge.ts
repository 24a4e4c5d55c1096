import type { BridgeSettings } from '../../../runtime/network/links/bridge.ts';
import { EngineError, invalidArgument, isEngineError } from '../../base/errors.ts';
import { containsAny, formatAnySubnet, isIpv4, isSubnet4, parseIp } from '../../base/addresses/ip.ts';
import type { AnySubnet, IpAddress } from '../../base/addresses/ip.ts';
import { contains, formatSubnet, overlaps, parseCidr, subnetSize } from '../../base/addresses/ipv4.ts';
import type { Subnet } from '../../base/addresses/ipv4.ts';
import { overlaps6, parseCidr6 } from '../../base/addresses/ipv6.ts';
import type { Subnet6 } from '../../base/addresses/ipv6.ts';
import { freeSubnet, freeSubnet6 } from '../../base/addresses/free-subnet.ts';
import type { SubnetSupply, SubnetSupply6 } from '../../base/addresses/free-subnet.ts';
import { BUILT_IN_SUPPLIES } from '../ipam/ipam.ts';
import type { AddressPool, AddressPool6 } from '../ipam/ipam.ts';
import type { NetworkOptions } from '../options.ts';

/** The default network: its addresses come from the configuration, not from a row. Pure. */

/**
 * The pool of the default bridge. Throws invalid_argument naming the option, resource_exhausted when none is
 * free.
 */
export function chooseBridgePool(options: {
  bip?: string | undefined;
  fixedCidr?: string | undefined;
  supplies?: readonly SubnetSupply[];
  /** What the bridge had before: kept as long as nothing else uses it. */
  previous?: string | undefined;
  used: readonly Subnet[];
}): AddressPool {
  if (options.bip !== undefined) {
    const { address, subnet } = cidrOption('bip', options.bip);
    if (!isHost(address, subnet)) {
      throw invalidArgument(`bip "${options.bip}": not an address of a host in its subnet`);
    }
    return withRange({ subnet, gateway: address }, options.fixedCidr);
  }
  const previous = options.previous === undefined ? undefined : parseCidr(options.previous)?.subnet;
  const subnet =
    previous !== undefined && !options.used.some((other) => overlaps(previous, other))
      ? previous
      : firstFree(options.supplies ?? BUILT_IN_SUPPLIES, options.used);
  return withRange({ subnet, gateway: subnet.base + 1 }, options.fixedCidr);
}

/** The IPv6 pool of the default bridge. Throws as `chooseBridgePool`. */
export function chooseBridgePool6(options: {
  fixedCidrV6?: string | undefined;
  supplies: readonly SubnetSupply6[];
  previous?: string | undefined;
  used: readonly Subnet6[];
}): AddressPool6 {
  if (options.fixedCidrV6 !== undefined) {
    const asked = parseCidr6(options.fixedCidrV6)?.subnet;
    if (asked === undefined || asked.prefixLength > 126 || asked.prefixLength < 16) {
      throw invalidArgument(
        `fixed-cidr-v6 "${options.fixedCidrV6}": expected an IPv6 network with a prefix length from 16 to 126`,
      );
    }
    return poolOf6(asked);
  }
  const previous = options.previous === undefined ? undefined : parseCidr6(options.previous)?.subnet;
  const isFree = previous !== undefined && !options.used.some((other) => overlaps6(previous, other));
  return poolOf6(isFree ? previous : freeSubnet6(options.supplies, options.used));
}

export function poolOf6(subnet: Subnet6, gateway = subnet.base + 1n): AddressPool6 {
  return { subnet, gateway, range: subnet };
}

/**
 * Another host of the pool's subnet, through which containers are to route. Throws invalid_argument naming the option.
 */
export function routerIn<T extends AddressPool | AddressPool6>(option: string, text: string, pool: T): T {
  const router = parseIp(text);
  if (
    router === undefined ||
    !containsAny(pool.subnet, router) ||
    router === pool.gateway ||
    !isHost(router, pool.subnet)
  ) {
    throw invalidArgument(
      `${option} "${text}": not an address of another host in the bridge's subnet ${formatAnySubnet(pool.subnet)}`,
    );
  }
  return { ...pool, router, reserved: new Set([router]) };
}

/** Neither a network's own address nor its broadcast. */
function isHost(address: IpAddress, subnet: AnySubnet): boolean {
  const isLast = isIpv4(address) && isSubnet4(subnet) && address === subnet.base + subnetSize(subnet) - 1;
  return address !== subnet.base && !isLast;
}

function firstFree(supplies: readonly SubnetSupply[], used: readonly Subnet[]): Subnet {
  try {
    return freeSubnet(supplies, used);
  } catch (error) {
    if (isEngineError(error, 'resource_exhausted')) {
      throw new EngineError(
        'resource_exhausted',
        'network bridge: every built-in subnet overlaps a network of this host; set "bip"',
        { cause: error },
      );
    }
    throw error;
  }
}

function withRange(pool: Omit<AddressPool, 'range'>, fixedCidr: string | undefined): AddressPool {
  if (fixedCidr === undefined) {
    return { ...pool, range: pool.subnet };
  }
  const { subnet: range } = cidrOption('fixed-cidr', fixedCidr);
  if (!contains(pool.subnet, range.base) || range.prefixLength < pool.subnet.prefixLength) {
    throw invalidArgument(
      `fixed-cidr "${fixedCidr}": not within the bridge's subnet ${formatSubnet(pool.subnet)}`,
    );
  }
  return { ...pool, range };
}

function cidrOption(name: string, value: string): { address: number; subnet: Subnet } {
  const cidr = parseCidr(value);
  if (cidr === undefined || cidr.subnet.prefixLength > 30 || cidr.subnet.prefixLength < 8) {
    throw invalidArgument(`${name} "${value}": expected an IPv4 address with a prefix length from 8 to 30`);
  }
  return cidr;
}

export function defaultBridgeSettings(
  options: NetworkOptions,
  addresses: BridgeSettings['addresses'],
): BridgeSettings {
  return {
    name: options.bridge,
    isForeign: options.isForeignBridge,
    addresses,
    mtu: options.mtu,
    internal: false,
    icc: options.icc,
    masquerade: options.masquerade,
  };
}

/** What inspect shows of the configuration, in the words of dockerd's bridge driver. */
export function defaultBridgeOptions(options: NetworkOptions): Record<string, string> {
  return {
    'com.docker.network.bridge.default_bridge': 'true',
    'com.docker.network.bridge.enable_icc': String(options.icc),
    'com.docker.network.bridge.enable_ip_masquerade': String(options.masquerade),
    'com.docker.network.bridge.host_binding_ipv4': options.ip,
    'com.docker.network.bridge.name': options.bridge,
    'com.docker.network.driver.mtu': String(options.mtu),
  };
}

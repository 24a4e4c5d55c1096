import { EngineError, invalidArgument } from '../base/errors.ts';
import {
  contains,
  formatIpv4,
  formatSubnet,
  overlaps,
  parseCidr,
  subnetOf,
  subnetSize,
} from '../base/ipv4.ts';
import type { Subnet } from '../base/ipv4.ts';

/** Which addresses a network may give out. Pure. */
export interface AddressPool {
  subnet: Subnet;
  gateway: number;
  /** Where containers' addresses come from: the subnet or a part of it. */
  range: Subnet;
}

/** dockerd's local pools: 172.17-31.0.0/16, then 192.168.0.0/16 in pieces of /20. */
export const BUILT_IN_SUBNETS: readonly Subnet[] = [
  ...Array.from({ length: 15 }, (_, index) => subnetOf((172 * 256 + 17 + index) * 65_536, 16)),
  ...Array.from({ length: 16 }, (_, index) => subnetOf((192 * 256 + 168) * 65_536 + index * 4096, 20)),
];

/**
 * The pool of the default bridge. Throws invalid_argument naming the option, resource_exhausted when none is
 * free.
 */
export function chooseBridgePool(options: {
  bip?: string | undefined;
  fixedCidr?: string | undefined;
  /** What the bridge had before: kept as long as nothing else uses it. */
  previous?: string | undefined;
  used: readonly Subnet[];
}): AddressPool {
  if (options.bip !== undefined) {
    const { address, subnet } = cidrOption('bip', options.bip);
    if (address === subnet.base || address === subnet.base + subnetSize(subnet) - 1) {
      throw invalidArgument(`bip "${options.bip}": not an address of a host in its subnet`);
    }
    return withRange({ subnet, gateway: address }, options.fixedCidr);
  }
  const isFree = (subnet: Subnet): boolean => !options.used.some((other) => overlaps(subnet, other));
  const previous = options.previous === undefined ? undefined : parseCidr(options.previous)?.subnet;
  const subnet =
    previous !== undefined && isFree(previous)
      ? previous
      : BUILT_IN_SUBNETS.find((candidate) => isFree(candidate));
  if (subnet === undefined) {
    throw new EngineError(
      'resource_exhausted',
      'network bridge: every built-in subnet overlaps a network of this host; set "bip"',
    );
  }
  return withRange({ subnet, gateway: subnet.base + 1 }, options.fixedCidr);
}

/** The lowest free address: neither used, nor the gateway, nor the subnet's first or last. */
export function lowestFree(
  pool: AddressPool,
  networkName: string,
  used: { has(address: number): boolean },
): number {
  const first = Math.max(pool.range.base, pool.subnet.base + 1);
  const last = Math.min(
    pool.range.base + subnetSize(pool.range) - 1,
    pool.subnet.base + subnetSize(pool.subnet) - 2,
  );
  for (let address = first; address <= last; address += 1) {
    if (address !== pool.gateway && !used.has(address)) {
      return address;
    }
  }
  throw new EngineError(
    'internal',
    `no available IPv4 addresses on this network's address pools: ${networkName} (${formatSubnet(pool.range)}, ` +
      `gateway ${formatIpv4(pool.gateway)})`,
  );
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

import { EngineError } from '../../base/errors.ts';
import { formatAnySubnet, formatIp } from '../../base/addresses/ip.ts';
import type { SubnetSupply } from '../../base/addresses/free-subnet.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import { subnetOf, subnetSize } from '../../base/addresses/ipv4.ts';
import type { Subnet } from '../../base/addresses/ipv4.ts';
import { subnet6Size } from '../../base/addresses/ipv6.ts';
import type { Subnet6 } from '../../base/addresses/ipv6.ts';

/** Which IPv4 addresses a network may allocate. Pure. */
export interface AddressPool {
  subnet: Subnet;
  /** Of a bridge: its own address. */
  gateway: number;
  /** The gateway of containers, where it is another host in the network. */
  router?: number;
  /** Where containers' addresses come from: the subnet or a part of it. */
  range: Subnet;
  /** Addresses of things that are no containers. */
  reserved?: ReadonlySet<number>;
}

/** The same for IPv6. */
export interface AddressPool6 {
  subnet: Subnet6;
  gateway: bigint;
  router?: bigint;
  range: Subnet6;
  reserved?: ReadonlySet<bigint>;
}

/** dockerd's local pools: 172.17-31.0.0/16, then 192.168.0.0/16 in pieces of /20. */
export const BUILT_IN_SUPPLIES: readonly SubnetSupply[] = [
  ...Array.from({ length: 15 }, (_, index) => ({
    base: subnetOf((172 * 256 + 17 + index) * 65_536, 16),
    size: 16,
  })),
  { base: subnetOf((192 * 256 + 168) * 65_536, 16), size: 20 },
];

/** The lowest free address: neither used, reserved, nor the gateway, nor the subnet's first or last. */
export function lowestFree(
  pool: AddressPool,
  networkName: string,
  used: { has(address: IpAddress): boolean },
): number {
  const first = Math.max(pool.range.base, pool.subnet.base + 1);
  const last = Math.min(
    pool.range.base + subnetSize(pool.range) - 1,
    pool.subnet.base + subnetSize(pool.subnet) - 2,
  );
  for (let address = first; address <= last; address += 1) {
    if (address !== pool.gateway && !used.has(address) && pool.reserved?.has(address) !== true) {
      return address;
    }
  }
  throw exhausted('IPv4', pool, networkName);
}

/** As `lowestFree`. The subnet's first address is every router's (RFC 4291); there is no broadcast address. */
export function lowestFree6(
  pool: AddressPool6,
  networkName: string,
  used: { has(address: IpAddress): boolean },
): bigint {
  const first = pool.range.base > pool.subnet.base ? pool.range.base : pool.subnet.base + 1n;
  const last = pool.range.base + subnet6Size(pool.range) - 1n;
  for (let address = first; address <= last; address += 1n) {
    if (address !== pool.gateway && !used.has(address) && pool.reserved?.has(address) !== true) {
      return address;
    }
  }
  throw exhausted('IPv6', pool, networkName);
}

function exhausted(family: string, pool: AddressPool | AddressPool6, networkName: string): EngineError {
  return new EngineError(
    'internal',
    `no available ${family} addresses on this network's address pools: ${networkName} ` +
      `(${formatAnySubnet(pool.range)}, gateway ${formatIp(pool.gateway)})`,
  );
}

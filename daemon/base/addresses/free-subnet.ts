import { EngineError } from '../errors.ts';
import { formatAnySubnet } from './ip.ts';
import { formatSubnet, overlaps, subnetOf, subnetSize } from './ipv4.ts';
import type { Subnet } from './ipv4.ts';
import { overlaps6, subnet6Size } from './ipv6.ts';
import type { Subnet6 } from './ipv6.ts';

/** Subnets for networks that are created without one: pieces of `base`, each with this prefix length. */
export interface SubnetSupply {
  base: Subnet;
  size: number;
}

/** The same for IPv6. */
export interface SubnetSupply6 {
  base: Subnet6;
  size: number;
}

/** The first subnet of the supplies that overlaps none of `used`. Throws resource_exhausted in dockerd's words. */
export function freeSubnet(supplies: readonly SubnetSupply[], used: readonly Subnet[]): Subnet {
  for (const { base, size } of supplies) {
    const near = used.filter((subnet) => overlaps(subnet, base));
    const step = 2 ** (32 - size);
    for (let start = base.base; start < base.base + subnetSize(base); start += step) {
      const candidate = subnetOf(start, size);
      if (!near.some((subnet) => overlaps(subnet, candidate))) {
        return candidate;
      }
    }
  }
  throw new EngineError(
    'resource_exhausted',
    'could not find an available, non-overlapping IPv4 address pool among the defaults to assign to the network: ' +
      supplies.map(({ base, size }) => `${formatSubnet(base)} in pieces of /${size}`).join(', '),
  );
}

/**
 * The engine's own /48 of unique local addresses (RFC 4193), which is derived from its id: two hosts in one network
 * have different ones. Pure.
 */
export function uniqueLocalSupply(globalId: string): SubnetSupply6 {
  const base = (0xfdn << 120n) | (BigInt(`0x${globalId.slice(0, 10)}`) << 80n);
  return { base: { base, prefixLength: 48 }, size: 64 };
}

/** As `freeSubnet`. There may be 2^100 pieces: what is used is jumped over. */
export function freeSubnet6(supplies: readonly SubnetSupply6[], used: readonly Subnet6[]): Subnet6 {
  for (const { base, size } of supplies) {
    const end = base.base + subnet6Size(base);
    let candidate = { base: base.base, prefixLength: size };
    while (candidate.base < end) {
      const obstacle = used.find((subnet) => overlaps6(subnet, candidate));
      if (obstacle === undefined) {
        return candidate;
      }
      const past = [obstacle, candidate].map((each) => each.base + subnet6Size(each));
      candidate = { base: past.reduce((a, b) => (a > b ? a : b)), prefixLength: size };
    }
  }
  throw new EngineError(
    'resource_exhausted',
    'could not find an available, non-overlapping IPv6 address pool among the defaults to assign to the network: ' +
      supplies.map(({ base, size }) => `${formatAnySubnet(base)} in pieces of /${size}`).join(', '),
  );
}

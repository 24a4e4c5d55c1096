import type { AnySubnet, IpAddress } from './ip.ts';
import { isSubnet4 } from './ip.ts';

const UINT64_MAX = 2n ** 64n - 1n;

/** A subnet, and the first and the last address that who asks for none may get. */
export interface CountedPool {
  subnet: AnySubnet;
  first: bigint;
  last: bigint;
}

/**
 * How many addresses of a subnet are taken, and how many are free from `first` to `last`, as dockerd counts them: the
 * subnet's first address, and of IPv4 its last, are taken too; 2^64 - 1 free ones at most. `taken` may have addresses
 * twice, and those of other subnets. Pure.
 */
export function countAddresses(
  { subnet, first, last }: CountedPool,
  taken: Iterable<IpAddress>,
): { IPsInUse: number; DynamicIPsAvailable: number | bigint } {
  const isFour = isSubnet4(subnet);
  const base = BigInt(subnet.base);
  const end = base + 2n ** BigInt((isFour ? 32 : 128) - subnet.prefixLength) - 1n;
  const all = new Set<bigint>([base, ...(isFour ? [end] : [])]);
  for (const address of taken) {
    const number = BigInt(address);
    if ((typeof address === 'number') === isFour && number >= base && number <= end) {
      all.add(number);
    }
  }
  const inRange = [...all].filter((address) => address >= first && address <= last).length;
  const free = last - first + 1n - BigInt(inRange);
  const bounded = free > UINT64_MAX ? UINT64_MAX : free;
  return {
    IPsInUse: all.size,
    DynamicIPsAvailable: bounded <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(bounded) : bounded,
  };
}

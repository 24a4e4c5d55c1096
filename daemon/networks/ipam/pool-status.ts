import type { SubnetStatus } from '../../../api/types/system.ts';
import { formatAnySubnet, isIpv4 } from '../../base/addresses/ip.ts';
import type { IpAddress } from '../../base/addresses/ip.ts';
import type { Network } from '../network.ts';
import type { AddressPool, AddressPool6 } from './ipam.ts';

const UINT64_MAX = 2n ** 64n - 1n;

/** How many addresses of each subnet of a network are taken and free. Pure. */
export function subnetStatuses({
  pool,
  pool6,
  addresses,
}: Pick<Network, 'pool' | 'pool6' | 'addresses'>): Record<string, SubnetStatus> {
  const pools = [pool, pool6].filter((each) => each !== undefined);
  return Object.fromEntries(
    pools.map((each) => [formatAnySubnet(each.subnet), statusOf(each, addresses.keys())]),
  );
}

/** What dockerd counts: the subnet's first address, and of IPv4 its last, are taken too. */
function statusOf(pool: AddressPool | AddressPool6, allocated: Iterable<IpAddress>): SubnetStatus {
  const bits = typeof pool.gateway === 'number' ? 32 : 128;
  const { base, size } = spanOf(pool.subnet, bits);
  const range = spanOf(pool.range, bits);
  const all = [
    base,
    ...(bits === 32 ? [base + size - 1n] : []),
    ...[pool.gateway, pool.router].filter((address) => address !== undefined).map(BigInt),
    ...[...(pool.reserved ?? [])].map(BigInt),
    ...[...allocated].filter((address) => isIpv4(address) === (bits === 32)).map(BigInt),
  ];
  const taken = [...new Set(all)].filter((address) => isIn({ base, size }, address));
  const takenInRange = taken.filter((address) => isIn(range, address));
  return {
    IPsInUse: taken.length,
    DynamicIPsAvailable: saturated(range.size - BigInt(takenInRange.length)),
  };
}

interface Span {
  base: bigint;
  size: bigint;
}

function spanOf({ base, prefixLength }: { base: IpAddress; prefixLength: number }, bits: number): Span {
  return { base: BigInt(base), size: 2n ** BigInt(bits - prefixLength) };
}

function isIn({ base, size }: Span, address: bigint): boolean {
  return address >= base && address < base + size;
}

function saturated(count: bigint): number | bigint {
  const bounded = count > UINT64_MAX ? UINT64_MAX : count;
  return bounded <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(bounded) : bounded;
}

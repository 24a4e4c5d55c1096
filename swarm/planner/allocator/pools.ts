import {
  formatIp,
  isSubnet4,
  parseAnyCidr,
  parseIp,
  type AnySubnet,
  type IpAddress,
} from '../../../daemon/base/addresses/ip.ts';
import { contains, subnetSize } from '../../../daemon/base/addresses/ipv4.ts';
import { contains6, subnet6Size } from '../../../daemon/base/addresses/ipv6.ts';
import type { OverlayRecord } from '../../objects/network.ts';

/** A subnet of a network, as addresses are taken from it. */
export interface Pool {
  subnet: AnySubnet;
  /** First and last address that is given to those who ask for none. */
  first: bigint;
  last: bigint;
  /** Nobody's: of the network itself, its gateway, and things that are none of the swarm. As text. */
  reserved: ReadonlySet<string>;
}

/** Pools of a network, those of IPv4 first. What was stored and cannot be read gives no pool. Pure. */
export function poolsOf(overlay: OverlayRecord): Pool[] {
  const pools = overlay.ipam.config.flatMap((config) => {
    const subnet = parseAnyCidr(config.Subnet ?? '')?.subnet;
    if (subnet === undefined) {
      return [];
    }
    const range = parseAnyCidr(config.IPRange ?? '')?.subnet ?? subnet;
    const others = [config.Gateway ?? '', ...Object.values(config.AuxiliaryAddresses ?? {})];
    const [start, end] = [subnet, range].map(endsOf);
    const reserved = [start?.first, ...(isSubnet4(subnet) ? [start?.last] : [])];
    return [
      {
        subnet,
        first: end?.first ?? 0n,
        last: end?.last ?? -1n,
        reserved: new Set([
          ...reserved.map((address) => addressOf(subnet, address ?? 0n)),
          // With the length of the prefix, as they may be stored.
          ...others.map((text) => canonical(text.split('/')[0] ?? '')),
        ]),
      },
    ];
  });
  return pools.toSorted((a, b) => Number(isSubnet4(b.subnet)) - Number(isSubnet4(a.subnet)));
}

/** The text of the address with this number in a pool's family. */
export function addressOf(subnet: AnySubnet, number: bigint): string {
  return formatIp(isSubnet4(subnet) ? Number(number) : number);
}

/** An address as it is spelled in records; empty for what is none. */
export function canonical(text: string): string {
  const address = parseIp(text);
  return address === undefined ? '' : formatIp(address);
}

export function isIn(subnet: AnySubnet, address: IpAddress): boolean {
  if (typeof address === 'number') {
    return isSubnet4(subnet) && contains(subnet, address);
  }
  return !isSubnet4(subnet) && contains6(subnet, address);
}

function endsOf(subnet: AnySubnet): { first: bigint; last: bigint } {
  const first = BigInt(subnet.base);
  const size = isSubnet4(subnet) ? BigInt(subnetSize(subnet)) : subnet6Size(subnet);
  return { first, last: first + size - 1n };
}

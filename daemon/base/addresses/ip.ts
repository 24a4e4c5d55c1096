import { contains, formatIpv4, formatSubnet, overlaps, parseCidr, parseIpv4 } from './ipv4.ts';
import {
  contains6,
  formatIpv6,
  formatSubnet6,
  ipv6Bytes,
  overlaps6,
  parseCidr6,
  parseIpv6,
  subnet6Of,
} from './ipv6.ts';
import type { Subnet6 } from './ipv6.ts';
import { subnetOf } from './ipv4.ts';
import type { Subnet } from './ipv4.ts';

/**
 * Addresses of both families: an IPv4 address is a number (unsigned, 32 bits), an IPv6 address a bigint. So the type
 * of a value tells its family, and a table keyed by addresses holds both. Pure.
 */
export type IpAddress = number | bigint;

/** An address as interfaces have it. */
export interface InterfaceAddress {
  address: IpAddress;
  prefixLength: number;
}

export type AnySubnet = Subnet | Subnet6;

export function formatIp(address: IpAddress): string {
  return typeof address === 'number' ? formatIpv4(address) : formatIpv6(address);
}

/** undefined for anything that is not an address. */
export function parseIp(text: string): IpAddress | undefined {
  return parseIpv4(text) ?? parseIpv6(text);
}

export function isIpv4(address: IpAddress): address is number {
  return typeof address === 'number';
}

/** Four or sixteen bytes in network order. */
export function addressBytes(address: IpAddress): Buffer {
  if (!isIpv4(address)) {
    return ipv6Bytes(address);
  }
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(address);
  return bytes;
}

/** `address/length` of either family; `subnet` is the network that holds the address. */
export function parseAnyCidr(text: string): { address: IpAddress; subnet: AnySubnet } | undefined {
  return parseCidr(text) ?? parseCidr6(text);
}

export function formatAnySubnet(subnet: AnySubnet): string {
  return isSubnet4(subnet) ? formatSubnet(subnet) : formatSubnet6(subnet);
}

export function isSubnet4(subnet: AnySubnet): subnet is Subnet {
  return typeof subnet.base === 'number';
}

/** The network that an interface with this address is in. */
export function subnetOfInterface({ address, prefixLength }: InterfaceAddress): AnySubnet {
  return typeof address === 'number' ? subnetOf(address, prefixLength) : subnet6Of(address, prefixLength);
}

export function overlapsAny(a: AnySubnet, b: AnySubnet): boolean {
  if (isSubnet4(a)) {
    return isSubnet4(b) && overlaps(a, b);
  }
  return !isSubnet4(b) && overlaps6(a, b);
}

export function containsAny(subnet: AnySubnet, address: IpAddress): boolean {
  if (isSubnet4(subnet)) {
    return isIpv4(address) && contains(subnet, address);
  }
  return !isIpv4(address) && contains6(subnet, address);
}

/** The first address that a host may have: a network's gateway where nobody says another. */
export function firstHost(subnet: AnySubnet): IpAddress {
  return isSubnet4(subnet) ? subnet.base + 1 : subnet.base + 1n;
}

/** IPv4 addresses as unsigned 32-bit numbers, and subnets over them. Pure. */
export interface Subnet {
  /** Lowest address. */
  base: number;
  /** 0-32. */
  prefixLength: number;
}

/**
 * The number of a dotted-quad address; undefined for anything else (also for `010.0.0.1`, which tools read as
 * octal).
 */
export function parseIpv4(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (!match) {
    return undefined;
  }
  let value = 0;
  for (const part of match.slice(1)) {
    const byte = Number(part);
    if (byte > 255 || (part.length > 1 && part.startsWith('0'))) {
      return undefined;
    }
    value = value * 256 + byte;
  }
  return value;
}

export function formatIpv4(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}

/**
 * `address/length`, keeping the address's host bits apart: `172.17.0.1/16` is address 172.17.0.1 in
 * 172.17.0.0/16.
 */
export function parseCidr(text: string): { address: number; subnet: Subnet } | undefined {
  const match = /^([\d.]+)\/(\d{1,2})$/.exec(text);
  const address = match ? parseIpv4(match[1] ?? '') : undefined;
  const prefixLength = Number(match?.[2]);
  if (address === undefined || prefixLength > 32) {
    return undefined;
  }
  return { address, subnet: subnetOf(address, prefixLength) };
}

export function formatSubnet(subnet: Subnet): string {
  return `${formatIpv4(subnet.base)}/${subnet.prefixLength}`;
}

export function subnetOf(address: number, prefixLength: number): Subnet {
  const size = 2 ** (32 - prefixLength);
  return { base: address - (address % size), prefixLength };
}

/** Number of addresses, the network's own and the broadcast address included. */
export function subnetSize(subnet: Subnet): number {
  return 2 ** (32 - subnet.prefixLength);
}

export function contains(subnet: Subnet, address: number): boolean {
  return address >= subnet.base && address < subnet.base + subnetSize(subnet);
}

export function overlaps(a: Subnet, b: Subnet): boolean {
  return contains(a, b.base) || contains(b, a.base);
}

/**
 * 02:42 and the address, as Docker does: one address always has one MAC, so that neighbours' caches stay
 * true.
 */
export function macOfAddress(address: number): Buffer {
  const mac = Buffer.from([0x02, 0x42, 0, 0, 0, 0]);
  mac.writeUInt32BE(address, 2);
  return mac;
}

import { parseIpv4 } from './ipv4.ts';

/** IPv6 addresses as unsigned 128-bit bigints, and subnets over them. Pure. */
export interface Subnet6 {
  /** Lowest address. */
  base: bigint;
  /** 0-128. */
  prefixLength: number;
}

const GROUPS = 8;
const BITS = 128;

/** The number of an address in any of its spellings; undefined for anything else, also for one with a zone. */
export function parseIpv6(text: string): bigint | undefined {
  const halves = withoutDottedQuad(text)?.split('::');
  if (halves === undefined || halves.length > 2) {
    return undefined;
  }
  const [head = [], tail] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = GROUPS - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) {
    return undefined;
  }
  const groups = [...head, ...Array.from({ length: missing }, () => '0'), ...(tail ?? [])];
  return groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))
    ? groups.reduce((value, group) => value * 65_536n + BigInt(Number.parseInt(group, 16)), 0n)
    : undefined;
}

/** `::ffff:10.0.0.1` with its last two groups in hexadecimal. */
function withoutDottedQuad(text: string): string | undefined {
  const quad = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (quad === null) {
    return text;
  }
  const value = parseIpv4(quad[2] ?? '');
  return value === undefined
    ? undefined
    : `${quad[1]}${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}`;
}

/** The one canonical spelling (RFC 5952). */
export function formatIpv6(address: bigint): string {
  const groups = Array.from({ length: GROUPS }, (_, index) =>
    Number((address >> BigInt(16 * (GROUPS - 1 - index))) & 0xffffn).toString(16),
  );
  const zeros = longestZeros(groups);
  return zeros === undefined
    ? groups.join(':')
    : `${groups.slice(0, zeros.start).join(':')}::${groups.slice(zeros.start + zeros.length).join(':')}`;
}

/** The first of the longest runs of zero groups, of two or more. */
function longestZeros(groups: readonly string[]): { start: number; length: number } | undefined {
  let best: { start: number; length: number } | undefined;
  let length = 0;
  groups.forEach((group, index) => {
    length = group === '0' ? length + 1 : 0;
    if (length > (best?.length ?? 1)) {
      best = { start: index - length + 1, length };
    }
  });
  return best;
}

/** `address/length`; the address keeps its host bits. */
export function parseCidr6(text: string): { address: bigint; subnet: Subnet6 } | undefined {
  const match = /^([0-9a-f:.]+)\/(\d{1,3})$/i.exec(text);
  const address = match ? parseIpv6(match[1] ?? '') : undefined;
  const prefixLength = Number(match?.[2]);
  if (address === undefined || prefixLength > BITS) {
    return undefined;
  }
  return { address, subnet: subnet6Of(address, prefixLength) };
}

export function formatSubnet6(subnet: Subnet6): string {
  return `${formatIpv6(subnet.base)}/${subnet.prefixLength}`;
}

export function subnet6Of(address: bigint, prefixLength: number): Subnet6 {
  const hostBits = BigInt(BITS - prefixLength);
  return { base: (address >> hostBits) << hostBits, prefixLength };
}

/** Number of addresses. */
export function subnet6Size(subnet: Subnet6): bigint {
  return 1n << BigInt(BITS - subnet.prefixLength);
}

export function contains6(subnet: Subnet6, address: bigint): boolean {
  return address >= subnet.base && address < subnet.base + subnet6Size(subnet);
}

export function overlaps6(a: Subnet6, b: Subnet6): boolean {
  return contains6(a, b.base) || contains6(b, a.base);
}

/** Sixteen bytes in network order. */
export function ipv6Bytes(address: bigint): Buffer {
  return Buffer.from(address.toString(16).padStart(BITS / 4, '0'), 'hex');
}

export function ipv6OfBytes(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

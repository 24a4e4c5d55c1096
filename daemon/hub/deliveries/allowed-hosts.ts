import { BlockList, isIP, isIPv6 } from 'node:net';
import { parseIpv6 } from '../../base/addresses/ipv6.ts';
import { formatIpv4 } from '../../base/addresses/ipv4.ts';
import { parseAnyCidr } from '../../base/addresses/ip.ts';

/** Whom deliveries may go to: the setting `hub.hooks-allowed-hosts`. */
export interface AllowedHosts {
  kinds: ReadonlySet<AddressKind>;
  networks: BlockList;
  /** Of names as they stand in a hook's address. */
  names: readonly RegExp[];
}

/** `special`: what no receiver has: link-local (where clouds keep their metadata), multicast, reserved. */
export type AddressKind = 'external' | 'private' | 'loopback' | 'special';

const KINDS: ReadonlySet<string> = new Set(['external', 'private', 'loopback']);

/** Reads `external`, `private`, `loopback`, `*`, networks (`10.0.0.0/8`) and names (`*.example.com`). */
export function parseAllowedHosts(texts: readonly string[]): AllowedHosts {
  const kinds = new Set<AddressKind>();
  const networks = new BlockList();
  const names: RegExp[] = [];
  for (const text of texts.map((each) => each.trim().toLowerCase()).filter((each) => each !== '')) {
    if (isKind(text)) {
      kinds.add(text);
    } else if (text === '*') {
      for (const kind of ['external', 'private', 'loopback', 'special'] as const) {
        kinds.add(kind);
      }
    } else if (isIP(text) !== 0) {
      networks.addAddress(text, isIPv6(text) ? 'ipv6' : 'ipv4');
    } else if (parseAnyCidr(text) !== undefined) {
      const [address = '', length = ''] = text.split('/');
      networks.addSubnet(address, Number(length), isIPv6(address) ? 'ipv6' : 'ipv4');
    } else {
      names.push(glob(text));
    }
  }
  return { kinds, networks, names };
}

/** Whether a delivery to `hostname` may go to this address of it. Pure. */
export function isAllowed(allowed: AllowedHosts, hostname: string, address: string): boolean {
  if (allowed.names.some((name) => name.test(hostname.toLowerCase()))) {
    return true;
  }
  const plain = plainAddress(address);
  return allowed.kinds.has(kindOf(plain)) || allowed.networks.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4');
}

/** Whether it may go to no address of this host, as far as its name tells: `localhost`, and addresses. */
export function isHostRefused(allowed: AllowedHosts, hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) {
    return !['127.0.0.1', '::1'].some((address) => isAllowed(allowed, host, address));
  }
  return isIP(host) !== 0 && !isAllowed(allowed, host, host);
}

/** Where an IPv4 address stands in an IPv6 one: [network, its length, bits behind the IPv4 address]. */
const EMBEDDED: readonly (readonly [string, number, bigint])[] = [
  ['::ffff:0:0', 96, 0n], // mapped (RFC 4291)
  ['::ffff:0:0:0', 96, 0n], // translated (RFC 2765)
  ['64:ff9b::', 96, 0n], // NAT64 (RFC 6052)
  ['2002::', 16, 80n], // 6to4 (RFC 3056)
];

/** The IPv4 address that packets to an IPv6 address end at, where there is one. */
function plainAddress(address: string): string {
  const bare = address.replace(/%.*$/, '');
  const value = isIPv6(bare) ? parseIpv6(bare) : undefined;
  if (value === undefined) {
    return bare;
  }
  const found = EMBEDDED.find(([base, length]) => {
    const shift = BigInt(128 - length);
    return value >> shift === (parseIpv6(base) ?? 0n) >> shift;
  });
  return found === undefined ? bare : formatIpv4(Number((value >> found[2]) & 0xff_ff_ff_ffn));
}

function kindOf(address: string): AddressKind {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  const found = (['loopback', 'private', 'special'] as const).find((kind) =>
    NETWORKS[kind].check(address, family),
  );
  if (found !== undefined) {
    return found;
  }
  // Of IPv6 only one eighth has been given out.
  return family === 'ipv4' || GLOBAL.check(address, family) ? 'external' : 'special';
}

const NETWORKS = {
  loopback: blocks(['127.0.0.0/8', '::1/128']),
  private: blocks(['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']),
  special: blocks(
    (
      '0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 ' +
      '203.0.113.0/24 224.0.0.0/3 ' +
      // Teredo hides an address in its bits; the others are for local use, documents, translation and discarding.
      '2001::/23 2001:db8::/32 3fff::/20 64:ff9b:1::/48 100::/64 fe80::/10 ff00::/8'
    ).split(' '),
  ),
} as const;

const GLOBAL = blocks(['2000::/3']);

function blocks(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', length = ''] = text.split('/');
    list.addSubnet(address, Number(length), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}

function isKind(text: string): text is AddressKind {
  return KINDS.has(text);
}

/** `*` stands for any characters, dots too. */
function glob(text: string): RegExp {
  const parts = text.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}

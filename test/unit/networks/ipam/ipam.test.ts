import { describe, expect, it } from 'vitest';
import { formatIpv4, formatSubnet, parseCidr, parseIpv4 } from '../../../../daemon/base/addresses/ipv4.ts';
import { formatIpv6, formatSubnet6, parseCidr6, parseIpv6 } from '../../../../daemon/base/addresses/ipv6.ts';
import type { Subnet6 } from '../../../../daemon/base/addresses/ipv6.ts';
import type { Subnet } from '../../../../daemon/base/addresses/ipv4.ts';
import {
  chooseBridgePool,
  chooseBridgePool6,
  routerIn,
} from '../../../../daemon/networks/drivers/default-bridge.ts';
import { BUILT_IN_SUPPLIES, lowestFree, lowestFree6 } from '../../../../daemon/networks/ipam/ipam.ts';
import { freeSubnet, freeSubnet6, uniqueLocalSupply } from '../../../../daemon/base/addresses/free-subnet.ts';

const subnet = (text: string): Subnet => parseCidr(text)?.subnet ?? { base: 0, prefixLength: 0 };
const subnet6 = (text: string): Subnet6 => parseCidr6(text)?.subnet ?? { base: 0n, prefixLength: 0 };
const ip = (text: string): number => parseIpv4(text) ?? -1;

function pool(options: Partial<Parameters<typeof chooseBridgePool>[0]>) {
  const chosen = chooseBridgePool({ used: [], ...options });
  return `${formatSubnet(chosen.subnet)} ${formatIpv4(chosen.gateway)} ${formatSubnet(chosen.range)}`;
}

describe('parseIpv4()', () => {
  it.each(['256.0.0.1', '1.2.3', '01.2.3.4', '1.2.3.4.5', '', 'a.b.c.d', ' 1.2.3.4', '::1'])(
    'refuses "%s"',
    (text) => {
      expect(parseIpv4(text)).toBeUndefined();
    },
  );

  it('reads addresses with the high bit set as positive numbers', () => {
    expect([ip('255.255.255.255'), formatIpv4(ip('192.168.255.1'))]).toEqual([
      4_294_967_295,
      '192.168.255.1',
    ]);
  });
});

describe('chooseBridgePool()', () => {
  it.each([
    ['the first built-in subnet', {}, '172.17.0.0/16 172.17.0.1 172.17.0.0/16'],
    [
      'the next when a route of the host overlaps',
      { used: [subnet('172.17.42.0/24'), subnet('172.16.0.0/14')] },
      '172.20.0.0/16 172.20.0.1 172.20.0.0/16',
    ],
    [
      '192.168 when all of 172 is used',
      { used: [subnet('172.16.0.0/12')] },
      '192.168.0.0/20 192.168.0.1 192.168.0.0/20',
    ],
    ['what it had before', { previous: '172.25.0.0/16' }, '172.25.0.0/16 172.25.0.1 172.25.0.0/16'],
    [
      'another when somebody else has that now',
      { previous: '172.25.0.0/16', used: [subnet('172.25.3.0/24')] },
      '172.17.0.0/16 172.17.0.1 172.17.0.0/16',
    ],
    [
      'bip above all',
      { bip: '10.1.2.254/24', previous: '172.25.0.0/16' },
      '10.1.2.0/24 10.1.2.254 10.1.2.0/24',
    ],
    [
      'fixed-cidr as the range',
      { bip: '10.1.2.1/24', fixedCidr: '10.1.2.64/26' },
      '10.1.2.0/24 10.1.2.1 10.1.2.64/26',
    ],
  ])('takes %s', (_what, options, expected) => {
    expect(pool(options)).toBe(expected);
  });

  it.each([
    [{ bip: '10.1.2.0/24' }, /^bip "10.1.2.0\/24": not an address of a host/],
    [{ bip: '10.1.2.255/24' }, /^bip "10.1.2.255\/24": not an address of a host/],
    [{ bip: '10.1.2.1' }, /^bip "10.1.2.1": expected/],
    [{ bip: '10.1.2.1/31' }, /^bip "10.1.2.1\/31": expected/],
    [
      { fixedCidr: '10.0.0.0/24' },
      /^fixed-cidr "10.0.0.0\/24": not within the bridge's subnet 172.17.0.0\/16/,
    ],
    [{ fixedCidr: '172.16.0.0/12' }, /^fixed-cidr "172.16.0.0\/12": not within/],
    [{ used: BUILT_IN_SUPPLIES.map(({ base }) => base) }, /every built-in subnet overlaps/],
  ])('refuses %o', (options, message) => {
    expect(() => pool(options)).toThrow(message);
  });
});

describe('routerIn()', () => {
  const bridge = chooseBridgePool({ bip: '10.0.0.1/24', used: [] });

  it('has containers route through another host, whose address it keeps for it', () => {
    const { router, reserved, gateway } = routerIn('default-gateway', '10.0.0.9', bridge);
    expect({ router, reserved, gateway }).toEqual({
      router: 0x0a000009,
      reserved: new Set([0x0a000009]),
      gateway: 0x0a000001,
    });
  });

  it.each(['10.0.1.1', '10.0.0.1', '10.0.0.0', '10.0.0.255', 'fd00::1', 'router'])('refuses %s', (text) => {
    expect(() => routerIn('default-gateway', text, bridge)).toThrow(
      `default-gateway "${text}": not an address of another host in the bridge's subnet 10.0.0.0/24`,
    );
  });
});

describe('lowestFree()', () => {
  const small = chooseBridgePool({ bip: '10.0.0.2/29', used: [] });

  it('passes over the gateway, the used, the first and the last address', () => {
    const used = new Set<number>();
    const given = Array.from({ length: 5 }, () => {
      const address = lowestFree(small, 'bridge', used);
      used.add(address);
      return formatIpv4(address);
    });
    expect(given).toEqual(['10.0.0.1', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6']);
    expect(() => lowestFree(small, 'bridge', used)).toThrow(
      "no available IPv4 addresses on this network's address pools: bridge (10.0.0.0/29, gateway 10.0.0.2)",
    );
    used.delete(ip('10.0.0.4'));
    expect(formatIpv4(lowestFree(small, 'bridge', used))).toBe('10.0.0.4');
  });
});

describe('freeSubnet()', () => {
  const supplies = [
    { base: subnet('10.1.0.0/16'), size: 24 },
    { base: subnet('10.2.0.0/24'), size: 24 },
  ];

  it('cuts pieces off the first supply that has one, past what is used', () => {
    const used: Subnet[] = [subnet('10.1.1.128/25')];
    const taken = Array.from({ length: 3 }, () => {
      const free = freeSubnet(supplies, used);
      used.push(free);
      return formatSubnet(free);
    });
    expect(taken).toEqual(['10.1.0.0/24', '10.1.2.0/24', '10.1.3.0/24']);
    expect(formatSubnet(freeSubnet(supplies, [subnet('10.1.0.0/16')]))).toBe('10.2.0.0/24');
  });

  it('says clearly when there is none left', () => {
    expect(() => freeSubnet(supplies, [subnet('10.0.0.0/8')])).toThrow(
      /could not find an available, non-overlapping IPv4 address pool .*: 10.1.0.0\/16 in pieces of \/24/,
    );
  });
});

describe('parseIpv6() and formatIpv6()', () => {
  it.each([
    ['::', '::'],
    ['::1', '::1'],
    ['FD00:0:0:1::', 'fd00:0:0:1::'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
  ])('read %s as %s', (text, canonical) => {
    expect(formatIpv6(parseIpv6(text) ?? -1n)).toBe(canonical);
  });

  it.each([
    '',
    ':',
    ':::',
    '1::2::3',
    '12345::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '::1%eth0',
    '::256.0.0.1',
    'g::',
  ])('refuse "%s"', (text) => {
    expect(parseIpv6(text)).toBeUndefined();
  });
});

describe('freeSubnet6()', () => {
  it('takes pieces of the unique local range that is made of an id, past what is used', () => {
    const supplies = [uniqueLocalSupply('0123456789abcdef')];
    const first = freeSubnet6(supplies, []);
    const second = freeSubnet6(supplies, [first]);
    expect([first, second].map(formatSubnet6)).toEqual(['fd01:2345:6789::/64', 'fd01:2345:6789:1::/64']);
    const pool6 = { subnet: first, range: first, gateway: first.base + 1n };
    expect(formatIpv6(lowestFree6(pool6, 'six', new Set([first.base + 2n])))).toBe('fd01:2345:6789::3');
  });

  it.each([
    [[], 'fd00::/120'],
    [['fd00::/120'], 'fd00::100/120'],
    [['fd00::40/122', 'fd00::101/128'], 'fd00::200/120'],
    [['fd00::/9', 'fd00:0:0:1::/64'], 'fd80::/120'],
    [['fd00::/8'], 'fe00::/126'],
  ])('jumps over what is used: %j', (used, expected) => {
    const supplies = [
      { base: subnet6('fd00::/8'), size: 120 },
      { base: subnet6('fe00::/126'), size: 126 },
    ];
    expect(formatSubnet6(freeSubnet6(supplies, used.map(subnet6)))).toBe(expected);
  });

  it('says clearly when there is none left', () => {
    expect(() => freeSubnet6([{ base: subnet6('fd00::/64'), size: 64 }], [subnet6('fd00::1/128')])).toThrow(
      'non-overlapping IPv6 address pool among the defaults to assign to the network: fd00::/64 in pieces of /64',
    );
  });
});

describe('chooseBridgePool6()', () => {
  const supplies = [{ base: subnet6('fd01::/48'), size: 64 }];
  const chosen = (options: Partial<Parameters<typeof chooseBridgePool6>[0]>): string => {
    const { subnet: own, gateway, range } = chooseBridgePool6({ supplies, used: [], ...options });
    return [formatSubnet6(own), formatIpv6(gateway), formatSubnet6(range)].join(' ');
  };

  it.each([
    ['the first free', {}, 'fd01::/64 fd01::1 fd01::/64'],
    ['what it had before', { previous: 'fd09::/80' }, 'fd09::/80 fd09::1 fd09::/80'],
    [
      'another when somebody else has that now',
      { previous: 'fd09::/80', used: [subnet6('fd09::5/128')] },
      'fd01::/64 fd01::1 fd01::/64',
    ],
    ['fixed-cidr-v6', { fixedCidrV6: 'fd02::7/64', previous: 'fd09::/80' }, 'fd02::/64 fd02::1 fd02::/64'],
  ])('takes %s', (_what, options, expected) => {
    expect(chosen(options)).toBe(expected);
  });

  it.each(['fd02::/8', 'fd02::/127', 'fd02::/129', 'fd02::', 'x::/64'])('refuses %s', (fixedCidrV6) => {
    expect(() => chosen({ fixedCidrV6 })).toThrow(`fixed-cidr-v6 "${fixedCidrV6}": expected`);
  });
});

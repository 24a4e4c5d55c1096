import { expect, test } from 'vitest';
import { countAddresses } from '../../../daemon/base/addresses/count.ts';
import { parseAnyCidr, parseIp } from '../../../daemon/base/addresses/ip.ts';

const ip = (text: string): number | bigint => parseIp(text) ?? -1;

test.each<[string, [string, string], string[], [number, number | bigint]]>([
  ['nothing is taken but both ends', ['10.0.0.0', '10.0.0.255'], [], [2, 254]],
  [
    'what is outside of the range is free for nobody',
    ['10.0.0.128', '10.0.0.255'],
    ['10.0.0.1', '10.0.0.129'],
    [4, 126],
  ],
  ['twice is once', ['10.0.0.0', '10.0.0.255'], ['10.0.0.9', '10.0.0.9'], [3, 253]],
  ['other subnets and families do not count', ['10.0.0.0', '10.0.0.255'], ['10.0.1.9', '::a00:9'], [2, 254]],
])('countAddresses: %s', (_what, [first, last], taken, [inUse, available]) => {
  const subnet = parseAnyCidr('10.0.0.0/24')?.subnet ?? { base: 0, prefixLength: 0 };
  const pool = { subnet, first: BigInt(ip(first)), last: BigInt(ip(last)) };
  expect(countAddresses(pool, taken.map(ip))).toEqual({ IPsInUse: inUse, DynamicIPsAvailable: available });
});

test.each<[string, number | bigint]>([
  ['fd00::/96', 4_294_967_295],
  ['fd00::/64', 2n ** 64n - 1n],
  ['fd00::/48', 2n ** 64n - 1n],
])('countAddresses: %s has no address of all hosts, and 2^64 - 1 at most', (text, available) => {
  const subnet = parseAnyCidr(text)?.subnet ?? { base: 0n, prefixLength: 0 };
  const first = BigInt(subnet.base);
  const last = first + 2n ** BigInt(128 - subnet.prefixLength) - 1n;
  expect(countAddresses({ subnet, first, last }, [])).toEqual({
    IPsInUse: 1,
    DynamicIPsAvailable: available,
  });
});

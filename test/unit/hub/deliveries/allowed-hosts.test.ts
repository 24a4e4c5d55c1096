import { expect, test } from 'vitest';
import {
  isAllowed,
  isHostRefused,
  parseAllowedHosts,
} from '../../../../daemon/hub/deliveries/allowed-hosts.ts';

test.each([
  ['8.8.8.8', 'external'],
  ['2606:4700::1111', 'external'],
  ['127.0.0.1', 'loopback'],
  ['127.8.9.1', 'loopback'],
  ['::1', 'loopback'],
  ['10.1.2.3', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.0.1', 'private'],
  ['100.64.0.1', 'private'],
  ['fd00::1', 'private'],
  // An IPv4 address inside of an IPv6 one: mapped, translated, NAT64, 6to4.
  ['::ffff:127.0.0.1', 'loopback'],
  ['::ffff:7f00:1', 'loopback'],
  ['::ffff:0:10.0.0.1', 'private'],
  ['64:ff9b::a00:1', 'private'],
  ['64:ff9b::808:808', 'external'],
  ['2002:a00:1::', 'private'],
  ['2002:7f00:1::1', 'loopback'],
  ['2002:808:808::1', 'external'],
  // Nobody's.
  ['0.0.0.0', undefined],
  ['::', undefined],
  ['::127.0.0.1', undefined],
  ['169.254.169.254', undefined],
  ['::ffff:169.254.169.254', undefined],
  ['64:ff9b::a9fe:a9fe', undefined],
  ['fe80::1', undefined],
  ['fe80::1%eth0', undefined],
  ['fec0::1', undefined],
  ['224.0.0.1', undefined],
  ['255.255.255.255', undefined],
  ['ff02::1', undefined],
  ['2001::1', undefined],
  ['64:ff9b:1::1', undefined],
  ['192.0.2.1', undefined],
])('%s is %s', (address, kind) => {
  const kinds = ['external', 'private', 'loopback'];
  const allowedBy = kinds.filter((each) => isAllowed(parseAllowedHosts([each]), 'x.test', address));
  expect(allowedBy).toEqual(kind === undefined ? [] : [kind]);
  expect(isAllowed(parseAllowedHosts(['*']), 'x.test', address)).toBe(true);
});

test.each([
  [['10.0.0.0/8'], 'x.test', '10.9.9.9', true],
  [['10.0.0.0/8'], 'x.test', '11.0.0.1', false],
  [['10.0.0.0/8'], 'x.test', '::ffff:10.0.0.1', true],
  [['fd00::/8'], 'x.test', 'fd12::1', true],
  [['10.0.0.7'], 'x.test', '10.0.0.7', true],
  [['*.example.com'], 'ci.example.com', '10.0.0.7', true],
  [['*.example.com'], 'example.com', '10.0.0.7', false],
  [['*.example.com'], 'example.com.evil.test', '10.0.0.7', false],
  [['CI.example.com'], 'ci.EXAMPLE.com', '10.0.0.7', true],
  [[], 'x.test', '8.8.8.8', false],
])('%j lets %s at %s through: %s', (texts, hostname, address, expected) => {
  expect(isAllowed(parseAllowedHosts(texts), hostname, address)).toBe(expected);
});

test.each([
  [['external'], 'localhost', true],
  [['external'], 'LOCALHOST.'.toLowerCase(), true],
  [['external'], 'a.localhost', true],
  [['loopback'], 'localhost', false],
  [['external'], '[::1]', true],
  [['external'], '127.0.0.1', true],
  [['external'], '8.8.8.8', false],
  [['external'], 'some.name', false],
])('%j refuses the host %s when it is said: %s', (texts, hostname, expected) => {
  expect(isHostRefused(parseAllowedHosts(texts), hostname)).toBe(expected);
});

import { describe, expect, it } from 'vitest';
import { endpointOptions, isPlain } from '../../../../daemon/networks/sandbox/endpoint-options.ts';

const SYSCTLS = 'com.docker.network.endpoint.sysctls';
const NAME = 'com.docker.network.endpoint.ifname';

describe('endpointOptions()', () => {
  it.each([
    {},
    { IPAMConfig: null, DriverOpts: null },
    { IPAMConfig: { LinkLocalIPs: null }, DriverOpts: {} },
  ])('takes what clients send who want nothing: %j', (settings) => {
    expect(endpointOptions(settings)).toEqual({ linkLocal: [], settings: [] });
  });

  it('reads link-local addresses of both families, with the length of their networks', () => {
    const LinkLocalIPs = ['169.254.1.1', 'fe80::77', 'FEBF::1'];
    expect(endpointOptions({ IPAMConfig: { LinkLocalIPs } }).linkLocal).toEqual([
      { address: 0xa9fe0101, prefixLength: 16 },
      { address: (0xfe80n << 112n) | 0x77n, prefixLength: 64 },
      { address: (0xfebfn << 112n) | 1n, prefixLength: 64 },
    ]);
  });

  it.each(['10.0.0.1', '169.253.1.1', '169.255.0.1', 'fe7f::1', 'fec0::1', '169.254.1.1/16', 'nonsense', ''])(
    'refuses "%s" as a link-local address',
    (text) => {
      expect(() => endpointOptions({ IPAMConfig: { LinkLocalIPs: [text] } })).toThrow(
        `invalid link-local IP address: ${text}`,
      );
    },
  );

  it('reads the name and the settings of the interface', () => {
    const text =
      'net.ipv4.conf.IFNAME.log_martians=1, net.ipv6.conf.ifname.accept_ra=2,net.ipv4.neigh.IFNAME.x=';
    expect(endpointOptions({ DriverOpts: { [NAME]: 'lan0', [SYSCTLS]: text } })).toEqual({
      linkLocal: [],
      interfaceName: 'lan0',
      settings: [
        { protocol: 'ipv4', group: 'conf', name: 'log_martians', value: '1' },
        { protocol: 'ipv6', group: 'conf', name: 'accept_ra', value: '2' },
        { protocol: 'ipv4', group: 'neigh', name: 'x', value: '' },
      ],
    });
  });

  it.each([
    [NAME, ''],
    [NAME, 'lo'],
    [NAME, 'all'],
    [NAME, '..'],
    [NAME, 'a/b'],
    [NAME, 'sixteen-letters-'],
    [SYSCTLS, ''],
    [SYSCTLS, 'net.ipv4.conf.eth0.log_martians=1'],
    [SYSCTLS, 'net.ipv4.conf.all.forwarding=1'],
    [SYSCTLS, 'kernel.x.IFNAME.y=1'],
    [SYSCTLS, 'net.ipv4.../.IFNAME.y=1'],
    [SYSCTLS, 'net.ipv4.conf.IFNAME.forwarding'],
    [SYSCTLS, 'net.ipv4.conf.IFNAME.forwarding=1\n2'],
    ['com.docker.network.endpoint.colour', 'red'],
  ])('refuses the driver option %s with the value %j', (key, value) => {
    expect(() => endpointOptions({ DriverOpts: { [key]: value } })).toThrow(key);
  });

  it('leaves options of other drivers alone', () => {
    expect(isPlain(endpointOptions({ DriverOpts: { colour: 'red', 'org.example.setting': 'on' } }))).toBe(
      true,
    );
  });
});

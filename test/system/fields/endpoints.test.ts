import { afterEach, expect, test } from 'vitest';
import type { EndpointSettings } from '../../../api/types/container.ts';
import { describeEngine, onReference } from '../../support/engine.ts';

/** Fields of NetworkingConfig.EndpointsConfig in networks of users, seen from inside. */
describeEngine('endpoints', (engine) => {
  afterEach(async () => {
    await engine.removeAll();
    await engine.http.ok('POST', '/networks/prune');
  });

  const network = (Name: string, ...subnets: string[]): Promise<unknown> =>
    engine.http.ok('POST', '/networks/create', {
      Name,
      EnableIPv6: subnets.length > 1,
      IPAM: { Config: subnets.map((Subnet) => ({ Subnet })) },
    });
  const inside = async (id: string, script: string): Promise<string> =>
    (await engine.exec(id, ['sh', '-c', script])).stdout.trim();

  test('IPAMConfig.IPv4Address, IPAMConfig.IPv6Address, MacAddress: are those of the interface', async () => {
    await network('blue', '10.77.0.0/24', 'fd77:1::/64');
    const endpoint: EndpointSettings = {
      IPAMConfig: { IPv4Address: '10.77.0.9', IPv6Address: 'fd77:1::9' },
      ...(!onReference && { MacAddress: '02:42:0a:4d:be:ef' }),
    };
    const id = await engine.start(
      ['sleep', '1000'],
      {},
      { HostConfig: { NetworkMode: 'blue' }, NetworkingConfig: { EndpointsConfig: { blue: endpoint } } },
    );
    expect(await inside(id, 'ip -o addr show dev eth0 | grep -o "inet6* [^ ]*" | grep -v fe80')).toBe(
      'inet 10.77.0.9/24\ninet6 fd77:1::9/64',
    );
    if (!onReference) {
      expect(await inside(id, 'cat /sys/class/net/eth0/address')).toBe('02:42:0a:4d:be:ef');
    }
  });

  test.runIf(!onReference)('GwPriority: the highest has the way out', async () => {
    await network('blue', '10.77.0.0/24');
    await network('red', '10.78.0.0/24');
    const endpoints = { blue: {}, red: { GwPriority: 10 } };
    const id = await engine.start(
      ['sleep', '1000'],
      {},
      { HostConfig: { NetworkMode: 'blue' }, NetworkingConfig: { EndpointsConfig: endpoints } },
    );
    expect(await inside(id, 'ip route | grep default')).toMatch(/^default via 10\.78\.0\.1 /);
  });

  test.runIf(!onReference).each<[EndpointSettings, string]>([
    [{ IPAMConfig: { IPv4Address: '10.99.0.1' } }, '10.99.0.1'],
    [{ IPAMConfig: { IPv6Address: 'fd99::1' } }, 'fd99::1'],
    [{ IPAMConfig: { IPv6Address: '10.77.0.3' } }, '10.77.0.3'],
    [{ IPAMConfig: { LinkLocalIPs: ['169.254.1.1'] } }, '169.254.1.1'],
    [{ MacAddress: '02:42' }, '02:42'],
    [{ DriverOpts: { colour: 'red' } }, 'colour'],
    [{ Aliases: ['two words'] }, 'two words'],
    [{ Links: ['nobody:\n'] }, 'nobody'],
  ])('create: %j is a 400 that names it', async (endpoint, value) => {
    await network('blue', '10.77.0.0/24', 'fd77:1::/64');
    const { status, text } = await engine.http.request('POST', '/containers/create', {
      body: {
        Image: 'busybox',
        HostConfig: { NetworkMode: 'blue' },
        NetworkingConfig: { EndpointsConfig: { blue: endpoint } },
      },
    });
    expect([status, text]).toEqual([400, expect.stringContaining(value)]);
  });
});

import { afterEach, expect, test } from 'vitest';
import type { EndpointSettings } from '../../../../api/types/endpoint.ts';
import { describeEngine, onReference } from '../../../support/engine/engine.ts';

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

  test.runIf(!onReference)(
    'IPAMConfig.LinkLocalIPs, DriverOpts: make the interface, also when it is connected later, and are shown',
    async () => {
      await engine.http.ok('POST', '/networks/create', { Name: 'blue', Internal: true });
      await network('red', '10.78.0.0/24');
      const blue: EndpointSettings = {
        IPAMConfig: { LinkLocalIPs: ['169.254.7.1', 'fe80::77'] },
        DriverOpts: {
          'com.docker.network.endpoint.ifname': 'lan0',
          'com.docker.network.endpoint.sysctls': 'net.ipv4.conf.IFNAME.log_martians=1',
        },
      };
      const id = await engine.start(
        ['sh', '-c', 'mkdir /www; echo here >/www/index.html; httpd -f -p 80 -h /www'],
        { NetworkMode: 'blue' },
        { NetworkingConfig: { EndpointsConfig: { blue } } },
      );
      await engine.http.ok('POST', '/networks/red/connect', {
        Container: id,
        EndpointConfig: { IPAMConfig: { LinkLocalIPs: ['169.254.8.1'] }, DriverOpts: null },
      });
      const look = (): Promise<string> =>
        inside(
          id,
          'ip -o addr | grep -o "[a-z0-9]* *inet6* [^ ]*" | grep -E "169.254|fe80::77" | tr -s " "; ' +
            'cat /proc/sys/net/ipv4/conf/lan0/log_martians',
        );
      const expected = 'lan0 inet 169.254.7.1/16\nlan0 inet6 fe80::77/64\neth0 inet 169.254.8.1/16\n1';
      expect(await look()).toBe(expected);
      expect((await engine.inspect(id)).NetworkSettings.Networks).toMatchObject({
        blue,
        red: { IPAMConfig: { LinkLocalIPs: ['169.254.8.1'] }, DriverOpts: null },
      });
      // A neighbour, in a network that leads nowhere else, with such an address of its own.
      const neighbour = { IPAMConfig: { LinkLocalIPs: ['169.254.7.2'] } };
      const other = await engine.start(
        ['sleep', '1000'],
        { NetworkMode: 'blue' },
        { NetworkingConfig: { EndpointsConfig: { blue: neighbour } } },
      );
      const get = `printf 'GET / HTTP/1.0\r\n\r\n' | timeout 5 nc 169.254.7.1 80 | tail -n 1`;
      await expect.poll(() => inside(other, get)).toBe('here');

      await engine.http.ok('POST', `/containers/${id}/restart?t=0`);
      expect((await look()).split('\n').toSorted()).toEqual(expected.split('\n').toSorted());
      const again = await engine.http.request('POST', '/networks/bridge/connect', {
        body: {
          Container: id,
          EndpointConfig: { DriverOpts: { 'com.docker.network.endpoint.ifname': 'lan0' } },
        },
      });
      expect([again.status, again.text]).toEqual([400, expect.stringContaining('the interface name')]);
    },
  );

  test.runIf(!onReference)(
    'DriverOpts: a setting that the kernel does not have fails the start',
    async () => {
      await network('blue', '10.77.0.0/24');
      const DriverOpts = { 'com.docker.network.endpoint.sysctls': 'net.ipv4.conf.IFNAME.nonsense=1' };
      const id = await engine.create(
        ['true'],
        { NetworkMode: 'blue' },
        { NetworkingConfig: { EndpointsConfig: { blue: { DriverOpts } } } },
      );
      const { status, text } = await engine.http.request('POST', `/containers/${id}/start`);
      expect([status, text]).toEqual([400, expect.stringContaining('net.ipv4.conf.eth0.nonsense=1')]);
    },
  );

  test.runIf(!onReference).each<[EndpointSettings, string]>([
    [{ IPAMConfig: { IPv4Address: '10.99.0.1' } }, '10.99.0.1'],
    [{ IPAMConfig: { IPv6Address: 'fd99::1' } }, 'fd99::1'],
    [{ IPAMConfig: { IPv6Address: '10.77.0.3' } }, '10.77.0.3'],
    [{ IPAMConfig: { LinkLocalIPs: ['10.77.0.5'] } }, 'link-local IP address: 10.77.0.5'],
    [{ MacAddress: '02:42' }, '02:42'],
    [{ DriverOpts: { 'com.docker.network.colour': 'red' } }, 'com.docker.network.colour'],
    [{ DriverOpts: { 'com.docker.network.endpoint.ifname': 'a/b' } }, 'a/b'],
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

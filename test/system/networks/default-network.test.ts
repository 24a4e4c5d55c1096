import { afterEach, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine } from '../../support/engine/engine.ts';

const CONFIG = { bip: '10.92.0.1/24', ipv6: true, 'fixed-cidr-v6': 'fd92::/64' };
const ROUTED = { ...CONFIG, 'default-gateway': '10.92.0.2', 'default-gateway-v6': 'fd92::fe' };

describeEngine(
  'the default network and options of all networks, as configured',
  (engine) => {
    const network = (name: string): Promise<NetworkInspect> => engine.http.ok('GET', `/networks/${name}`);
    const start = (mode = 'bridge', host: object = {}): Promise<string> =>
      engine.start(['sleep', '1000'], { NetworkMode: mode, ...host });
    const inside = async (id: string, script: string): Promise<string> =>
      (await engine.exec(id, ['sh', '-c', script])).stdout.trim();
    const routers = (id: string): Promise<string> =>
      inside(id, '(ip route; ip -6 route) | grep -o "^default via [^ ]*"');
    const configured = async (config: object): Promise<void> => {
      engine.daemon.configure({ ...config });
      await engine.daemon.restart();
    };

    afterEach(async () => {
      await engine.removeAll();
      await engine.http.ok('POST', '/networks/prune');
    });

    test('default-gateway, default-gateway-v6: containers route through these, which are given to none', async () => {
      const first = await start();
      expect(await routers(first)).toBe('default via 10.92.0.2\ndefault via fd92::fe');
      const { IPAddress, Gateway, IPv6Gateway } =
        (await engine.inspect(first)).NetworkSettings.Networks['bridge'] ?? {};
      expect([IPAddress, Gateway, IPv6Gateway]).toEqual(['10.92.0.3', '10.92.0.2', 'fd92::fe']);
      expect((await network('bridge')).IPAM.Config).toEqual([
        {
          Subnet: '10.92.0.0/24',
          Gateway: '10.92.0.1',
          AuxiliaryAddresses: { DefaultGatewayIPv4: '10.92.0.2' },
        },
        {
          Subnet: 'fd92::/64',
          Gateway: 'fd92::1',
          AuxiliaryAddresses: { DefaultGatewayIPv6: 'fd92::fe' },
        },
      ]);
      // The host is still reached at the bridge's own address, and a daemon started anew leaves all as it is.
      await engine.daemon.restart();
      expect(await routers(first)).toBe('default via 10.92.0.2\ndefault via fd92::fe');
      expect(await inside(first, 'ping -c 1 -W 10 10.92.0.1 >/dev/null && echo there')).toBe('there');
      // One that runs keeps its way, whatever the configuration says by now.
      await configured(CONFIG);
      expect(await routers(first)).toBe('default via 10.92.0.2\ndefault via fd92::fe');
      expect(await routers(await start())).toBe('default via 10.92.0.1\ndefault via fd92::1');
      await engine.removeAll();
      await configured(ROUTED);
    });

    test('a network with the auxiliary address DefaultGatewayIPv4: its containers route through that', async () => {
      const AuxiliaryAddresses = { DefaultGatewayIPv4: '10.93.0.9', printer: '10.93.0.2' };
      const IPAM = { Config: [{ Subnet: '10.93.0.0/24', AuxiliaryAddresses }] };
      await engine.http.ok('POST', '/networks/create', { Name: 'blue', IPAM });
      const id = await start('blue');
      expect(await inside(id, 'ip route | grep default')).toMatch(/^default via 10\.93\.0\.9 /);
      expect((await engine.inspect(id)).NetworkSettings.Networks['blue']).toMatchObject({
        Gateway: '10.93.0.9',
        IPAddress: '10.93.0.3',
      });
    });

    test('default-network-opts: are those of networks that say nothing else', async () => {
      await configured({
        ...ROUTED,
        'default-network-opts': {
          bridge: {
            'com.docker.network.driver.mtu': '1400',
            'com.docker.network.bridge.enable_icc': 'false',
          },
        },
      });
      const options = async (Name: string, more: object = {}): Promise<unknown> => {
        await engine.http.ok('POST', '/networks/create', { Name, ...more });
        return (await network(Name)).Options;
      };
      expect(await options('plain')).toEqual({
        'com.docker.network.driver.mtu': '1400',
        'com.docker.network.bridge.enable_icc': 'false',
      });
      expect(await options('own', { Options: { 'com.docker.network.driver.mtu': '1300' } })).toEqual({
        'com.docker.network.driver.mtu': '1300',
        'com.docker.network.bridge.enable_icc': 'false',
      });
      expect(await options('config', { ConfigOnly: true })).toEqual({});
      const mtu = 'cat /sys/class/net/eth0/mtu';
      expect(await inside(await start('plain'), mtu)).toBe('1400');
      expect(await inside(await start('own'), mtu)).toBe('1300');
      expect(await inside(await start('bridge'), mtu)).toBe('1500');
      await engine.removeAll();
      await engine.http.ok('DELETE', '/networks/config');
      await configured(ROUTED);
    });

    test('bridge: none: there is no default network, and who asks for it has a loopback interface alone', async () => {
      const links = async (): Promise<string> => engine.daemon.netns.run('ip', '-o', 'link');
      const { Options } = await network('bridge');
      const bridge = Options?.['com.docker.network.bridge.name'] ?? '';
      const running = await start();
      await configured({ bridge: 'none' });
      // As long as somebody is in there it stays.
      expect(await inside(running, 'ping -c 1 -W 10 10.92.0.1 >/dev/null && echo there')).toBe('there');
      await engine.removeAll();
      await engine.daemon.restart();
      expect(await links()).not.toContain(`${bridge}:`);
      const names = (await engine.http.ok<NetworkInspect[]>('GET', '/networks')).map(({ Name }) => Name);
      expect(names).toEqual(['host', 'none']);
      expect((await engine.http.request('GET', '/networks/bridge')).status).toBe(404);

      for (const more of [
        { HostConfig: {} },
        { HostConfig: { NetworkMode: 'bridge', PortBindings: { '80/tcp': [{ HostPort: '8080' }] } } },
        { HostConfig: { NetworkMode: 'default' }, NetworkingConfig: { EndpointsConfig: { default: {} } } },
      ]) {
        const id = await engine.start(['sleep', '1000'], {}, more);
        expect(await inside(id, 'ls /sys/class/net')).toBe('lo');
        expect((await engine.inspect(id)).NetworkSettings).toMatchObject({ Networks: {} });
      }
      const alone = await start('default');
      const refused = await engine.http.request('POST', '/networks/bridge/connect', {
        body: { Container: alone },
      });
      expect([refused.status, refused.text]).toEqual([
        404,
        expect.stringContaining('network bridge not found'),
      ]);
      await engine.http.ok('POST', '/networks/create', { Name: 'blue' });
      await engine.http.ok('POST', '/networks/blue/connect', { Container: alone });
      expect(await inside(alone, 'ls /sys/class/net')).toBe('eth0\nlo');
      const host = { ExtraHosts: ['me:host-gateway'] };
      const id = await engine.create(['true'], host, { HostConfig: { NetworkMode: 'blue', ...host } });
      const { status, text } = await engine.http.request('POST', `/containers/${id}/start`);
      expect([status, text]).toEqual([400, expect.stringContaining('host-gateway')]);
      await engine.removeAll();
      await engine.http.ok('POST', '/networks/prune');
      await configured(ROUTED);
      expect(await links()).toContain(`${bridge}:`);
    });
  },
  { config: ROUTED },
);

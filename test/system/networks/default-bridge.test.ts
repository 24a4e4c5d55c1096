import { afterEach, expect, test } from 'vitest';
import type { NetworkInspect, SystemInfo } from '../../../api/types/system.ts';
import { describeEngine } from '../../support/engine/engine.ts';

const PAGE = ['sh', '-c', 'mkdir /www; echo page >/www/index.html; httpd -f -p 80 -h /www'];
const SIX = { ipv6: true, 'fixed-cidr-v6': 'fd90::/64' };
const CONFIG = {
  bip: '10.90.0.1/24',
  'fixed-cidr': '10.90.0.128/25',
  'default-address-pools': [
    { base: '10.91.0.0/16', size: 24 },
    { base: 'fd91::/48', size: 64 },
  ],
  'host-gateway-ip': '192.0.2.7',
  iptables: true,
  ip6tables: true,
};

describeEngine(
  'the default bridge and default address pools, as configured',
  (engine) => {
    const start = (host: object = {}): Promise<string> =>
      engine.start(PAGE, { NetworkMode: 'bridge', ...host });
    const addresses = async (id: string): Promise<(string | undefined)[]> => {
      const { IPAddress, GlobalIPv6Address, IPv6Gateway } =
        (await engine.inspect(id)).NetworkSettings.Networks['bridge'] ?? {};
      return [IPAddress, GlobalIPv6Address, IPv6Gateway];
    };
    const network = (name: string): Promise<NetworkInspect> => engine.http.ok('GET', `/networks/${name}`);
    const onBridge = async (): Promise<string[]> => {
      const { Options } = await network('bridge');
      const name = Options?.['com.docker.network.bridge.name'] ?? '';
      const list = await engine.daemon.netns.run('ip', '-o', 'addr', 'show', 'dev', name);
      return [...list.matchAll(/inet6? ((?:10|192|fd)\S+)/g)].map(([, address = '']) => address);
    };

    afterEach(async () => {
      await engine.removeAll();
      await engine.http.ok('POST', '/networks/prune');
    });

    test('fixed-cidr-v6: containers have IPv6 addresses, see each other, and are published by both', async () => {
      expect(await network('bridge')).toMatchObject({
        EnableIPv6: true,
        IPAM: {
          Config: [
            { Subnet: '10.90.0.0/24', IPRange: '10.90.0.128/25', Gateway: '10.90.0.1' },
            { Subnet: 'fd90::/64', Gateway: 'fd90::1' },
          ],
        },
      });
      const web = await start({ PortBindings: { '80/tcp': [{ HostPort: '8701' }] } });
      expect(await addresses(web)).toEqual(['10.90.0.128', 'fd90::2', 'fd90::1']);
      const other = await start();
      const get = `printf 'GET / HTTP/1.0\r\n\r\n' | timeout 5 nc fd90::2 80 | tail -n 1`;
      await expect.poll(async () => (await engine.exec(other, ['sh', '-c', get])).stdout).toBe('page\n');
      for (const host of ['127.0.0.1', '[fd90::1]']) {
        await expect.poll(() => engine.daemon.fetch(`http://${host}:8701/`)).toBe('page\n');
      }
      // Refused, so that who asks `localhost` goes on to 127.0.0.1; bridges take no answers for ::1.
      const askLoopback = 'timeout 5 busybox nc ::1 8701 </dev/null; echo $?';
      expect(await engine.daemon.netns.run('sh', '-c', askLoopback)).toBe('1\n');
      expect((await engine.exec(web, ['cat', '/proc/sys/net/ipv6/conf/eth0/accept_ra'])).stdout).toBe('0\n');
      await engine.daemon.restart();
      expect(await addresses(web)).toEqual(['10.90.0.128', 'fd90::2', 'fd90::1']);
      // The range holds also while somebody runs.
      expect(await addresses(await start())).toEqual(['10.90.0.130', 'fd90::4', 'fd90::1']);
    });

    test('ipv6: a container that runs keeps what it has; with the last one the addresses go', async () => {
      const web = await start();
      engine.daemon.configure(CONFIG);
      await engine.daemon.restart();
      expect(await addresses(web)).toEqual(['10.90.0.128', 'fd90::2', 'fd90::1']);
      expect(await onBridge()).toEqual(['10.90.0.1/24', 'fd90::1/64']);
      await engine.removeAll();
      await engine.daemon.restart();
      expect(await onBridge()).toEqual(['10.90.0.1/24']);
      expect(await network('bridge')).toMatchObject({ EnableIPv6: false });
      const without = await start();
      expect(await addresses(without)).toEqual(['10.90.0.128', '', '']);
      const { stdout } = await engine.exec(without, ['cat', '/proc/sys/net/ipv6/conf/eth0/disable_ipv6']);
      expect(stdout).toBe('1\n');
      // And come back beside it, without a subnet of their own from the pool.
      engine.daemon.configure({ ...CONFIG, ipv6: true });
      await engine.daemon.restart();
      expect(await addresses(await start())).toEqual([
        '10.90.0.129',
        expect.stringMatching(/^fd9/),
        expect.anything(),
      ]);
      await engine.removeAll();
      engine.daemon.configure({ ...CONFIG, ...SIX });
      await engine.daemon.restart();
    });

    test('default-address-pools: subnets of both families come from there', async () => {
      const subnets = async (Name: string, EnableIPv6: boolean): Promise<(string | undefined)[]> => {
        await engine.http.ok('POST', '/networks/create', { Name, EnableIPv6 });
        return (await network(Name)).IPAM.Config.map(({ Subnet }) => Subnet);
      };
      expect(await subnets('one', true)).toEqual(['10.91.0.0/24', 'fd91::/64']);
      expect(await subnets('two', true)).toEqual(['10.91.1.0/24', 'fd91:0:0:1::/64']);
      expect(await subnets('three', false)).toEqual(['10.91.2.0/24']);
      const info = await engine.http.ok<SystemInfo>('GET', '/info');
      expect(info.DefaultAddressPools).toEqual([
        { Base: '10.91.0.0/16', Size: 24 },
        { Base: 'fd91::/48', Size: 64 },
      ]);
    });

    test('bridge: that of the administrator keeps its addresses, and its subnet is that of the network', async () => {
      const ip = (...args: string[]): Promise<string> => engine.daemon.netns.run('ip', ...args);
      await ip('link', 'add', 'mine0', 'type', 'bridge');
      for (const address of ['10.95.0.9/24', '192.0.2.1/24', 'fd95::9/64']) {
        await ip('addr', 'add', address, 'dev', 'mine0');
      }
      await ip('link', 'set', 'mine0', 'up');
      const { bip: _bip, 'fixed-cidr': _range, ...rest } = CONFIG;
      const own = { ...rest, bridge: 'mine0' };
      engine.daemon.configure(own);
      await engine.daemon.restart();
      const addresses4 = ['10.95.0.9/24', '192.0.2.1/24'];
      expect((await onBridge()).toSorted()).toEqual(['10.95.0.9/24', '192.0.2.1/24', 'fd95::9/64']);
      expect((await network('bridge')).IPAM.Config).toEqual([
        { Subnet: '10.95.0.0/24', Gateway: '10.95.0.9' },
      ]);
      const web = await start({ PortBindings: { '80/tcp': [{ HostPort: '8702' }] } });
      expect(await addresses(web)).toEqual(['10.95.0.1', '', '']);
      await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8702/')).toBe('page\n');
      engine.daemon.configure({ ...own, ipv6: true, 'fixed-cidr': '10.95.0.64/26' });
      await engine.daemon.restart();
      expect((await onBridge()).toSorted()).toEqual([...addresses4, 'fd95::9/64']);
      expect(await addresses(await start())).toEqual(['10.95.0.64', 'fd95::1', 'fd95::9']);
      await engine.removeAll();
      engine.daemon.configure({ ...CONFIG, ...SIX });
      await engine.daemon.restart();
      await ip('link', 'del', 'mine0');
    });

    test('host-gateway-ip: is what host-gateway means', async () => {
      const { stdout } = await engine.run(['grep', 'me$', '/etc/hosts'], {
        NetworkMode: 'bridge',
        ExtraHosts: ['me:host-gateway'],
      });
      expect(stdout).toBe('192.0.2.7\tme\n');
    });
  },
  { config: { ...CONFIG, ...SIX } },
);

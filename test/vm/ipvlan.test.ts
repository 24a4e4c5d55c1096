import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { NetworkInspect } from '../../api/types/system.ts';
import { describeEngine } from '../support/engine/engine.ts';
import { kill } from '../support/engine/cleanup.ts';

const UPLINK = 63;
const SLEEP = ['sleep', '100000'];
const ONE = '10.63.0.70';
const IPAM = { Config: [{ Subnet: '10.63.0.0/24', Gateway: '10.63.0.1', IPRange: '10.63.0.64/26' }] };
/** Kernel modules that put an interface into every new network namespace. */
const TUNNELS = ['ipip', 'sit', 'ip_gre'];

/**
 * What a distribution's kernel has and small ones lack: ipvlan, dummy and VLAN interfaces, tunnels in every namespace.
 * The engine's host is a namespace with a veth pair `eth0`, whose other end is this machine, a neighbour in its LAN.
 */
describeEngine(
  'ipvlan and macvlan on a kernel that has them',
  (engine) => {
    const network = (Options: object, more: object = {}): Promise<unknown> =>
      engine.http.ok('POST', '/networks/create', { Name: 'lan', Driver: 'ipvlan', IPAM, Options, ...more });
    const start = (name: string, address?: string): Promise<string> => {
      const endpoint = address === undefined ? {} : { IPAMConfig: { IPv4Address: address } };
      return engine.start(
        SLEEP,
        { NetworkMode: 'lan' },
        { NetworkingConfig: { EndpointsConfig: { lan: endpoint } } },
        name,
      );
    };
    const inside = async (id: string, ...argv: string[]): Promise<string> =>
      (await engine.exec(id, argv)).stdout;
    const pings = async (id: string, address: string): Promise<boolean> =>
      (await engine.exec(id, ['ping', '-c', '1', '-W', '2', address])).exitCode === 0;
    const endpoint = async (id: string): Promise<unknown> =>
      (await engine.inspect(id)).NetworkSettings.Networks['lan'];
    const hostLinks = async (): Promise<string[]> =>
      (await engine.daemon.netns.run('ip', '-o', 'link')).match(/(?<=^\d+: )[^@:]+/gm) ?? [];

    afterEach(async () => {
      await engine.removeAll();
      await engine.http.ok('POST', '/networks/prune');
      expect((await hostLinks()).filter((name) => /^(d[im]-|eth0\.)/.test(name))).toEqual([]);
    });

    test.each([
      ['l2', 'bridge'],
      ['l2', ''],
      ['l3', 'bridge'],
      ['l3s', 'bridge'],
    ])('ipvlan %s %s: containers reach each other by address and name', async (ipvlan_mode, ipvlan_flag) => {
      await network({ parent: 'eth0', ipvlan_mode, ipvlan_flag });
      const one = await start('one', ONE);
      const two = await start('two');
      await expect.poll(() => pings(two, ONE)).toBe(true);
      await expect.poll(() => pings(one, '10.63.0.64')).toBe(true);
      expect(await inside(two, 'nslookup', 'one')).toContain(ONE);
      // In layer 3 the host routes: there is no gateway, and the gateway that was named is reached by nobody's ARP.
      const isRouted = ipvlan_mode !== 'l2';
      expect((await inside(one, 'ip', 'route')).split('\n')).toContainEqual(
        expect.stringMatching(isRouted ? /^default dev eth0/ : /^default via 10\.63\.0\.1 dev eth0/),
      );
      expect(await endpoint(one)).toMatchObject({
        IPAddress: ONE,
        IPPrefixLen: 24,
        Gateway: isRouted ? '' : '10.63.0.1',
        MacAddress: '',
      });
      expect(await inside(one, 'ip', '-d', 'link', 'show', 'eth0')).not.toContain('02:42');
      if (!isRouted) {
        expect(await pings(one, '10.63.0.1')).toBe(true);
      }
    });

    test.each(['private', 'vepa'])(
      'ipvlan l2 %s: a container reaches the LAN, and its neighbours not through the parent',
      async (ipvlan_flag) => {
        await network({ parent: 'eth0', ipvlan_flag });
        await start('one', ONE);
        const two = await start('two');
        await expect.poll(() => pings(two, '10.63.0.1')).toBe(true);
        expect(await pings(two, ONE)).toBe(false);
      },
    );

    test.each([
      ['ipvlan', 'eth0.10'],
      ['macvlan', 'eth0.11'],
    ])('%s: the parent %s is a VLAN, made and removed with its network', async (Driver, parent) => {
      await network({ parent }, { Driver });
      expect(await hostLinks()).toContain(parent);
      const one = await start('one', ONE);
      const two = await start('two');
      await expect.poll(() => pings(two, ONE)).toBe(true);
      // Untagged, the LAN is another network.
      expect(await pings(one, '10.63.0.1')).toBe(false);
      await engine.removeAll();
      await engine.http.ok('DELETE', '/networks/lan');
      expect(await hostLinks()).not.toContain(parent);
    });

    test('parent: a VLAN that somebody else made stays', async () => {
      const { netns } = engine.daemon;
      await netns.run('ip', 'link', 'add', 'link', 'eth0', 'name', 'eth0.12', 'type', 'vlan', 'id', '12');
      await netns.run('ip', 'link', 'set', 'eth0.12', 'up');
      await network({ parent: 'eth0.12' });
      await engine.http.ok('DELETE', '/networks/lan');
      expect(await hostLinks()).toContain('eth0.12');
      await netns.run('ip', 'link', 'del', 'eth0.12');
    });

    test.each([
      ['ipvlan', {}],
      ['macvlan', {}],
      ['ipvlan', { Internal: true }],
    ])('%s without a parent %j: containers reach each other and nothing else', async (Driver, more) => {
      await network({}, { Driver, ...more });
      expect(await engine.http.ok('GET', '/networks/lan')).toMatchObject({ Internal: true });
      await start('one', ONE);
      const two = await start('two');
      await expect.poll(() => pings(two, ONE)).toBe(true);
      expect(await inside(two, 'nslookup', 'one')).toContain(ONE);
      expect(await inside(two, 'ip', 'route')).not.toContain('default');
    });

    test.each(['l2', 'l3'])('ipvlan %s: connect and disconnect while running', async (ipvlan_mode) => {
      await network({ parent: 'eth0', ipvlan_mode });
      const one = await start('one', ONE);
      const id = await engine.start(SLEEP, { NetworkMode: 'bridge' });
      const body = { Container: id, EndpointConfig: { IPAMConfig: { IPv4Address: '10.63.0.90' } } };
      await engine.http.ok('POST', '/networks/lan/connect', body);
      await expect.poll(() => pings(one, '10.63.0.90')).toBe(true);
      await engine.http.ok('POST', '/networks/bridge/disconnect', { Container: id });
      const defaultRoute = ipvlan_mode === 'l2' ? 'default via 10.63.0.1 dev eth1' : 'default dev eth1';
      expect(await inside(id, 'ip', 'route')).toContain(defaultRoute);
      await engine.http.ok('POST', '/networks/bridge/connect', { Container: id });
      await engine.http.ok('POST', '/networks/lan/disconnect', { Container: id });
      expect((await inside(id, 'ip', '-o', 'link')).match(/eth\d/g)).toEqual(['eth0']);
      expect(await inside(id, 'ip', 'route')).toContain('default via 172.17.0.1 dev eth0');
      await engine.http.ok('POST', '/networks/lan/connect', body);
      await expect.poll(() => pings(one, '10.63.0.90')).toBe(true);
    });

    test('SIGKILL of the daemon: containers go on, and one that ended meanwhile gets its address again', async () => {
      await network({ parent: 'eth0', ipvlan_mode: 'l3' });
      const one = await start('one', ONE);
      const two = await start('two');
      const { Pid } = (await engine.inspect(one)).State;
      await engine.daemon.kill9();
      kill(Pid);
      await engine.daemon.up();
      await engine.untilState(one, 'exited');
      expect(await pings(two, '10.63.0.64')).toBe(true);
      // Its old interface may be dying still, with its namespace.
      for (let round = 0; round < 3; round += 1) {
        await engine.http.ok('POST', `/containers/${one}/start`);
        await expect.poll(() => pings(two, ONE)).toBe(true);
        await engine.http.ok('POST', `/containers/${one}/kill`);
        await engine.wait(one);
      }
      const { Containers } = await engine.http.ok<NetworkInspect>('GET', '/networks/lan');
      expect(Object.keys(Containers)).toEqual([two]);
    });

    test('connect: a daemon that dies amid it leaves no interface in the container', async () => {
      await network({ parent: 'eth0' });
      const id = await engine.start(SLEEP, { NetworkMode: 'bridge' });
      for (const point of ['network.parent.settle', 'network.connect.address', 'network.connect.route']) {
        engine.daemon.arm(`${point}=sigkill`);
        const body = { Container: id, EndpointConfig: { GwPriority: 1 } };
        // The daemon dies over it.
        await expect(engine.http.request('POST', '/networks/lan/connect', { body })).rejects.toThrow();
        await engine.daemon.ended();
        engine.daemon.arm('');
        await engine.daemon.up();
        const links = (await inside(id, 'ip', '-o', 'link')).match(/(?<=^\d+: )[^:@]+/gm);
        expect([point, links]).toEqual([point, ['lo', 'eth0']]);
        expect(await inside(id, 'ip', 'route')).toContain('default via 172.17.0.1 dev eth0');
      }
    });

    test('tunnels: where each namespace is born with interfaces, every network works the same', async () => {
      execFileSync('modprobe', ['--all', ...TUNNELS]);
      try {
        await network({ parent: 'eth0' });
        const one = await start('one', ONE);
        expect(await inside(one, 'ip', '-o', 'link')).toContain('tunl0');
        const two = await engine.start(SLEEP, { NetworkMode: 'bridge' });
        const three = await engine.start(SLEEP, { NetworkMode: 'bridge' });
        await engine.http.ok('POST', '/networks/lan/connect', { Container: two });
        await expect.poll(() => pings(two, ONE)).toBe(true);
        const { IPAddress } = (await engine.inspect(three)).NetworkSettings.Networks['bridge'] ?? {};
        await expect.poll(() => pings(two, IPAddress ?? '')).toBe(true);
        await engine.removeAll();
      } finally {
        execFileSync('rmmod', TUNNELS);
      }
    });
  },
  { uplink: UPLINK, armable: true, alsoNeeds: ['guest'] },
);

import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';

const UPLINK = 62;
const LAN = {
  Name: 'lan',
  Driver: 'macvlan',
  Options: { parent: 'eth0' },
  IPAM: { Config: [{ Subnet: '10.62.0.0/24', Gateway: '10.62.0.1', IPRange: '10.62.0.64/26' }] },
};
const PAGE = ['sh', '-c', 'mkdir /www; echo page >/www/index.html; httpd -f -p 80 -h /www'];

/** What this machine, a neighbour in the LAN, reads there. */
function fetchAsNeighbour(url: string): string {
  return execFileSync('curl', ['-sf', '--max-time', '2', '--noproxy', '*', url], { encoding: 'utf8' });
}

describeEngine(
  'macvlan and ipvlan',
  (engine) => {
    const links = async (id: string): Promise<string> => (await engine.exec(id, ['ip', 'link'])).stdout;

    afterEach(async () => {
      await engine.removeAll();
      await engine.http.ok('POST', '/networks/prune');
    });

    test('a container stands in the network of the host, with an address and a MAC of its own', async () => {
      await engine.http.ok('POST', '/networks/create', LAN);
      const id = await engine.start(
        PAGE,
        {},
        {
          ExposedPorts: { '80/tcp': {} },
          HostConfig: { NetworkMode: 'lan', PortBindings: { '80/tcp': [{ HostPort: '8600' }] } },
          NetworkingConfig: {
            EndpointsConfig: {
              lan: { IPAMConfig: { IPv4Address: '10.62.0.77' }, MacAddress: '02:42:00:00:00:77' },
            },
          },
        },
      );
      await expect.poll(() => fetchAsNeighbour('http://10.62.0.77/')).toBe('page\n');
      expect(await links(id)).toContain('02:42:00:00:00:77');
      expect((await engine.exec(id, ['ip', 'route'])).stdout).toContain('default via 10.62.0.1');
      const other = await engine.start(['sleep', '1000'], { NetworkMode: 'lan' });
      const { Networks } = (await engine.inspect(other)).NetworkSettings;
      expect(Networks['lan']?.IPAddress).toBe('10.62.0.64');
      const ping = ['ping', '-c', '1', '-W', '2', '10.62.0.77'];
      await expect.poll(async () => (await engine.exec(other, ping)).exitCode).toBe(0);
      await engine.daemon.restart();
      await expect.poll(() => fetchAsNeighbour('http://10.62.0.77/')).toBe('page\n');
      const { Containers } = await engine.http.ok<NetworkInspect>('GET', '/networks/lan');
      expect(Object.keys(Containers).toSorted()).toEqual([id, other].toSorted());
      expect((await engine.http.request('DELETE', '/networks/lan')).status).toBe(403);
    });

    test('connect and disconnect while running, and published ports stay with the bridge', async () => {
      await engine.http.ok('POST', '/networks/create', LAN);
      const id = await engine.start(PAGE, {
        NetworkMode: 'bridge',
        PortBindings: { '80/tcp': [{ HostPort: '8601' }] },
      });
      await engine.http.ok('POST', '/networks/lan/connect', {
        Container: id,
        EndpointConfig: { IPAMConfig: { IPv4Address: '10.62.0.78' } },
      });
      await expect.poll(() => fetchAsNeighbour('http://10.62.0.78/')).toBe('page\n');
      await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8601/')).toBe('page\n');
      await engine.http.ok('POST', '/networks/bridge/disconnect', { Container: id });
      expect((await engine.inspect(id)).NetworkSettings.Ports).toEqual({ '80/tcp': null });
      await engine.http.ok('POST', '/networks/bridge/connect', { Container: id });
      await engine.http.ok('POST', '/networks/lan/disconnect', { Container: id });
      expect(await links(id)).not.toContain('macvlan');
      await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8601/')).toBe('page\n');
      expect((await links(id)).match(/eth\d/g)).toHaveLength(1);
    });

    test.each([
      [{ parent: 'nowhere0' }, 400, 'network parent interface nowhere0 was not found on the host'],
      [{ parent: 'eth0', macvlan_mode: 'fast' }, 400, "requested macvlan mode 'fast' is not valid"],
      [{ parent: 'eth0.4095' }, 400, 'vlan id must be between 1-4094'],
      [{ colour: 'red' }, 400, 'network option "colour" is not supported by the macvlan driver'],
      [{ parent: 'nowhere0' }, 400, 'network parent interface nowhere0 was not found on the host', 'ipvlan'],
      [{ parent: 'eth0', ipvlan_mode: 'l4' }, 400, "requested ipvlan mode 'l4' is not valid", 'ipvlan'],
      [{ parent: 'eth0', ipvlan_flag: 'x' }, 400, "requested ipvlan flag 'x' is not valid", 'ipvlan'],
      [
        { parent: 'eth0', macvlan_mode: 'vepa' },
        400,
        '"macvlan_mode" is not supported by the ipvlan',
        'ipvlan',
      ],
    ])('options: %j are refused and leave nothing', async (Options, status, text, Driver = 'macvlan') => {
      const body = { ...LAN, Driver, Options };
      const answer = await engine.http.request('POST', '/networks/create', { body });
      expect([answer.status, answer.json]).toEqual([status, { message: expect.stringContaining(text) }]);
      expect((await engine.http.request('GET', '/networks/lan')).status).toBe(404);
    });

    test('parent: one interface has one network', async () => {
      await engine.http.ok('POST', '/networks/create', LAN);
      for (const Driver of onReference ? ['macvlan'] : ['macvlan', 'ipvlan']) {
        const body = { ...LAN, Name: 'second', Driver, IPAM: {} };
        const answer = await engine.http.request('POST', '/networks/create', { body });
        expect([answer.status, answer.text]).toEqual([
          403,
          expect.stringContaining('network lan is already using parent interface eth0'),
        ]);
      }
    });

    test.skipIf(onReference).each(['l2', 'l3', 'l3s'])(
      'ipvlan: in mode %s a container has an address there, or the start says that the kernel has no such links',
      async (ipvlan_mode) => {
        const Options = { parent: 'eth0', ipvlan_mode };
        await engine.http.ok('POST', '/networks/create', { ...LAN, Driver: 'ipvlan', Options });
        const endpoint = { IPAMConfig: { IPv4Address: '10.62.0.79' } };
        const at = { NetworkingConfig: { EndpointsConfig: { lan: endpoint } } };
        const id = await engine.create(PAGE, { NetworkMode: 'lan' }, at);
        const answer = await engine.http.request('POST', `/containers/${id}/start`);
        if (answer.status === 204) {
          // In the other modes nobody asks for a MAC: a neighbour needs a route.
          if (ipvlan_mode === 'l2') {
            await expect.poll(() => fetchAsNeighbour('http://10.62.0.79/')).toBe('page\n');
          }
          expect((await engine.exec(id, ['ip', 'route'])).stdout).toContain('default');
          const { Networks } = (await engine.inspect(id)).NetworkSettings;
          expect(Networks['lan']).toMatchObject({ IPAddress: '10.62.0.79', MacAddress: '' });
        } else {
          expect([answer.status, answer.json]).toEqual([
            500,
            { message: 'network parent eth0: the kernel of this host has no ipvlan interfaces' },
          ]);
        }
        // Whether it could start or not, its address is free again, and the network can go.
        await engine.removeAll();
        await engine.http.ok('DELETE', '/networks/lan');
        // dockerd 20.10 knows no MAC addresses of endpoints.
        const address = { MacAddress: '02:42:00:00:00:79' };
        const mac = {
          ...(onReference ? address : { NetworkingConfig: { EndpointsConfig: { lan: address } } }),
          HostConfig: { NetworkMode: 'lan' },
        };
        await engine.http.ok('POST', '/networks/create', { ...LAN, Driver: 'ipvlan', Options });
        const refused = await engine.http.request('POST', '/containers/create', {
          body: { Image: 'busybox:latest', Cmd: ['true'], ...mac },
        });
        expect([refused.status, refused.text]).toEqual([
          400,
          expect.stringContaining('ipvlan interfaces do not support custom mac address assignment'),
        ]);
      },
    );

    test('parent: without one the network is internal, where the kernel has links that lead nowhere', async () => {
      const body = { Name: 'alone', Driver: 'macvlan' };
      const answer = await engine.http.request('POST', '/networks/create', { body });
      if (answer.status === 201) {
        expect(await engine.http.ok('GET', '/networks/alone')).toMatchObject({ Internal: true });
      } else {
        expect(answer.text).toContain('the kernel of this host has no dummy interfaces');
      }
    });
  },
  { uplink: UPLINK },
);

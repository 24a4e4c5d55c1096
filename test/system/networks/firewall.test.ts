import { execFile, execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';

const PAGE = ['sh', '-c', 'mkdir /www; echo page >/www/index.html; httpd -f -p 80 -h /www'];
const UPLINK = 61;
/** The daemon's host as a neighbour on its LAN, this machine, sees it. */
const HOST = `10.${UPLINK}.0.2`;

/** What this machine, a neighbour of the daemon's host, is told; empty = out of reach. */
function fetchAsNeighbour(url: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('curl', ['-sf', '--max-time', '0.8', '--noproxy', '*', url], (error, page) => {
      resolve(error === null ? page : '');
    });
  });
}

function get(to: string, port: string): string[] {
  return ['sh', '-c', `printf 'GET / HTTP/1.0\r\n\r\n' | timeout 2 nc ${to} ${port} | tail -n 1`];
}

describeEngine(
  'the firewall, seen by a neighbour',
  (engine) => {
    const create = (body: object): Promise<{ Id: string }> =>
      engine.http.ok('POST', '/networks/create', body);
    const start = (network: string, host: object = {}): Promise<string> =>
      engine.start(PAGE, {}, { HostConfig: { NetworkMode: network, ...host } });
    const address = async (id: string, network: string): Promise<string> =>
      (await engine.inspect(id)).NetworkSettings.Networks[network]?.IPAddress ?? '';

    afterEach(async () => {
      await engine.removeAll();
      await engine.http.ok('POST', '/networks/prune');
    });

    /** Published to all, published on loopback, and not published; and the neighbour routes to the bridge. */
    async function expectClosedButPublished(): Promise<void> {
      const closed = [`${HOST}:8502`, '10.51.0.2', '10.51.0.3'];
      expect(await Promise.all(closed.map((to) => fetchAsNeighbour(`http://${to}/`)))).toEqual(['', '', '']);
      await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8502/')).toBe('page\n');
      await expect.poll(() => fetchAsNeighbour(`http://${HOST}:8501/`)).toBe('page\n');
    }

    test.skipIf(onReference)(
      'class 15, R53: published ports are open, all else is closed, also after kill -9 and nft flush ruleset',
      async () => {
        await create({ Name: 'blue', IPAM: { Config: [{ Subnet: '10.51.0.0/24' }] } });
        const web = await start('blue', {
          PortBindings: { '80/tcp': [{ HostPort: '8501' }, { HostIp: '127.0.0.1', HostPort: '8502' }] },
        });
        expect(await address(web, 'blue')).toBe('10.51.0.2');
        await start('blue');
        execFileSync('ip', ['route', 'replace', '10.51.0.0/24', 'via', HOST]);
        try {
          await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8501/')).toBe('page\n');
          await expectClosedButPublished();
          await engine.daemon.restart();
          await expectClosedButPublished();
          await engine.daemon.netns.run('nft', 'flush', 'ruleset');
          await expect.poll(() => fetchAsNeighbour(`http://${HOST}:8501/`)).toBe('page\n');
          await expectClosedButPublished();
          const ruleset = (): Promise<string> => engine.daemon.netns.run('nft', '-a', 'list', 'ruleset');
          const rules = await ruleset();
          const [, handle = ''] = /published ports only.*# handle (\d+)/.exec(rules) ?? [];
          const [, table = ''] = /table ip (\w+)/.exec(rules) ?? [];
          await engine.daemon.netns.run('nft', 'delete', 'rule', 'ip', table, 'guard', 'handle', handle);
          expect(handle).not.toBe('');
          await expect.poll(ruleset).toMatch(/published ports only/);
        } finally {
          execFileSync('ip', ['route', 'del', '10.51.0.0/24']);
        }
      },
    );

    test('class 15: containers of one bridge cannot reach those of another, but by their published ports', async () => {
      await create({ Name: 'blue' });
      await create({ Name: 'green' });
      const web = await start('blue', { PortBindings: { '80/tcp': [{ HostPort: '8503' }] } });
      const client = await start('green');
      await expect.poll(() => engine.daemon.fetch('http://127.0.0.1:8503/')).toBe('page\n');
      const { stdout } = await engine.exec(client, get(await address(web, 'blue'), '80'));
      expect(stdout).toBe('');
      if (!onReference) {
        // dockerd closes this way too, where it runs without its proxy.
        const { IPAM } = await engine.http.ok<NetworkInspect>('GET', '/networks/green');
        const published = get(IPAM.Config[0]?.Gateway ?? '', '8503');
        await expect.poll(async () => (await engine.exec(client, published)).stdout).toBe('page\n');
      }
    });

    test.skipIf(onReference)(
      'user: the chain of the administrator is asked first and never touched',
      async () => {
        await create({ Name: 'blue' });
        await start('blue', { PortBindings: { '80/tcp': [{ HostPort: '8504' }] } });
        await expect.poll(() => fetchAsNeighbour(`http://${HOST}:8504/`)).toBe('page\n');
        const table =
          /table ip (berth\w*)/.exec(await engine.daemon.netns.run('nft', 'list', 'tables'))?.[1] ?? '';
        await engine.daemon.netns.run(
          'nft',
          'add',
          'rule',
          'ip',
          table,
          'user',
          'meta',
          'l4proto',
          'tcp',
          'ct',
          'original',
          'proto-dst',
          '8504',
          'drop',
        );
        expect(await fetchAsNeighbour(`http://${HOST}:8504/`)).toBe('');
        await engine.daemon.restart();
        expect(await fetchAsNeighbour(`http://${HOST}:8504/`)).toBe('');
        await engine.daemon.netns.run('nft', 'flush', 'chain', 'ip', table, 'user');
        await expect.poll(() => fetchAsNeighbour(`http://${HOST}:8504/`)).toBe('page\n');
      },
    );

    test('ipv6: a dual-stack network gives both addresses, a way to each other and published ports', async () => {
      await create({ Name: 'six', EnableIPv6: true, IPAM: { Config: [{ Subnet: 'fd77::/64' }] } });
      const web = await start('six', { PortBindings: { '80/tcp': [{ HostPort: '8505' }] } });
      const client = await start('six');
      const { GlobalIPv6Address, IPv6Gateway, IPAddress } =
        (await engine.inspect(web)).NetworkSettings.Networks['six'] ?? {};
      expect([GlobalIPv6Address, IPv6Gateway, IPAddress]).toEqual([
        'fd77::2',
        'fd77::1',
        expect.stringMatching(/^\d/),
      ]);
      const ping = ['ping', '-6', '-c', '1', '-W', '2', 'fd77::2'];
      await expect.poll(async () => (await engine.exec(client, ping)).exitCode).toBe(0);
      expect((await engine.exec(client, ['ip', '-6', 'route'])).stdout).toMatch(/default via fd77::1/);
      if (!onReference) {
        await expect.poll(() => engine.daemon.fetch('http://[fd77::1]:8505/')).toBe('page\n');
      }
    });

    test('sctp: a port is published', async () => {
      const id = await start('bridge', { PortBindings: { '80/sctp': [{ HostPort: '8506' }] } });
      expect((await engine.inspect(id)).NetworkSettings.Ports['80/sctp']).toMatchObject([
        { HostPort: '8506' },
      ]);
    });
  },
  { uplink: UPLINK },
);

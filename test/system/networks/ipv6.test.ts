import { afterEach, beforeEach, expect, test } from 'vitest';
import type { NetworkInspect } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { ASK, ECHO, Neighbour } from '../../support/engine/neighbour.ts';

const PYTHON = ['/usr:/usr:ro', '/lib:/lib:ro', '/lib64:/lib64:ro'];
const SERVER = ['/usr/bin/python3', '-c', ECHO, '80'];
/** The link between the daemon's host and a neighbour of it; `eth0` is the one interface that the oracle looks past. */
const HOST = 'fd99::1';
const NEIGHBOUR = 'fd99::2';

const IPV6 = '/proc/sys/net/ipv6/conf';
/** A router advertisement, with a prefix, to all nodes of the link. The kernel makes the checksum. */
const ADVERTISE = `import socket, struct
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
prefix = struct.pack('!BBBBIII', 3, 4, 64, 0xc0, 3600, 3600, 0) + bytes.fromhex('fd66') + bytes(14)
for _ in range(3):
    head = struct.pack('!BBHBBHII', 134, 0, 0, 64, 0, 1800, 0, 0)
    s.sendto(head + prefix, ('ff02::1', 0, 0, socket.if_nametoindex('eth0')))`;

const PREFIX = 'fd66:';

function subnet(Subnet: string): object {
  return { IPAM: { Config: [{ Subnet }] } };
}

function static6(network: string, IPv6Address: string): object {
  return { NetworkingConfig: { EndpointsConfig: { [network]: { IPAMConfig: { IPv6Address } } } } };
}

function publish(HostIp: string, HostPort: string): object {
  return { PortBindings: { '80/tcp': [{ HostIp, HostPort }] } };
}

describeEngine('ipv6', (engine) => {
  let neighbour: Neighbour;

  beforeEach(async () => {
    neighbour = await Neighbour.beside(engine.daemon.netns, {
      host: [`${HOST}/64`],
      neighbour: [`${NEIGHBOUR}/64`],
    });
    neighbour.ip('route', 'add', 'fd00::/8', 'via', HOST);
  });
  afterEach(async () => {
    await engine.removeAll();
    await engine.http.ok('POST', '/networks/prune');
    neighbour[Symbol.dispose]();
  });

  const create = (Name: string, more: object = {}): Promise<{ Id: string }> =>
    engine.http.ok('POST', '/networks/create', { Name, EnableIPv6: true, ...more });
  const serve = (network: string, host: object = {}, name?: string): Promise<string> =>
    engine.start(SERVER, { NetworkMode: network, Binds: PYTHON, ...host }, {}, name);
  const address = async (id: string, network: string): Promise<string> =>
    (await engine.inspect(id)).NetworkSettings.Networks[network]?.GlobalIPv6Address ?? '';
  /** Of the open only the first answer takes long, on a busy machine. */
  const asNeighbour = (to: string, port: number): Promise<string> => neighbour.ask(to, port, 20);
  const closedTo = (to: string, port: number): Promise<string> => neighbour.ask(to, port, 1.5);
  const asContainer = async (id: string, to: string, port: number, seconds = 20): Promise<string> =>
    (await engine.exec(id, ['/usr/bin/python3', '-c', ASK, to, String(port), String(seconds)])).stdout;

  const bindings = async (id: string): Promise<(string | undefined)[]> =>
    ((await engine.inspect(id)).NetworkSettings.Ports['80/tcp'] ?? []).map(({ HostIp }) => HostIp);

  test('a static address is given, kept over a restart and kill -9, and given to nobody else', async () => {
    await create('six', subnet('fd88::/64'));
    const id = await engine.start(SERVER, { NetworkMode: 'six', Binds: PYTHON }, static6('six', 'fd88::77'));
    expect(await address(id, 'six')).toBe('fd88::77');
    const again = await engine.create(['true'], { NetworkMode: 'six' }, static6('six', 'fd88::77'));
    const answer = await engine.http.request('POST', `/containers/${again}/start`);
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('Address already in use')]);
    if (!onReference) {
      await engine.daemon.restart();
      expect(await address(id, 'six')).toBe('fd88::77');
      await until('an answer', async () => (await asContainer(id, 'fd88::77', 80)) === 'fd88::77');
    }
    await engine.http.ok('POST', `/containers/${id}/restart?t=0`);
    expect(await address(id, 'six')).toBe('fd88::77');
  });

  test('class 15: a neighbour reaches what is published, also after nft flush ruleset, and nothing else', async () => {
    await create('six', subnet('fd88::/64'));
    const everywhere = await serve('six', publish('::', '8801'));
    await serve('six', publish(HOST, '8802'));
    await serve('six', publish('::1', '8803'));
    const bare = await serve('six');
    const own = [await address(bare, 'six'), await address(everywhere, 'six')];
    const seen = (): Promise<string[]> =>
      Promise.all([
        asNeighbour(HOST, 8801),
        asNeighbour(HOST, 8802),
        closedTo(HOST, 8803),
        ...own.map((each) => closedTo(each, 80)),
      ]);
    for (const port of [8801, 8802]) {
      await until('an answer', async () => (await asNeighbour(HOST, port)) !== '');
    }
    expect(await seen()).toEqual([NEIGHBOUR, NEIGHBOUR, '', '', '']);
    if (!onReference) {
      await engine.daemon.netns.run('nft', 'flush', 'ruleset');
      await until('the rules to be back', async () => (await closedTo(HOST, 8801)) !== '');
      expect(await seen()).toEqual([NEIGHBOUR, NEIGHBOUR, '', '', '']);
      await engine.daemon.restart();
      expect(await seen()).toEqual([NEIGHBOUR, NEIGHBOUR, '', '', '']);
    }
  });

  test('class 15: bridges are apart, but for published ports; a container reaches its own', async () => {
    await create('six', subnet('fd88::/64'));
    await create('seven', subnet('fd89::/64'));
    const one = await serve('six', { PortBindings: { '80/tcp': [{ HostIp: '::', HostPort: '8804' }] } });
    const same = await serve('six');
    const other = await serve('seven');
    const to = await address(one, 'six');
    await until('an answer', async () => (await asContainer(same, to, 80)) !== '');
    expect(await asContainer(other, to, 80, 1.5)).toBe('');
    await expect.poll(() => asContainer(other, HOST, 8804)).not.toBe('');
    await expect.poll(() => asContainer(same, 'fd88::1', 8804)).not.toBe('');
    await expect.poll(() => asContainer(one, 'fd88::1', 8804)).not.toBe('');
  });

  test('class 17: an internal network leads nowhere', async () => {
    await create('six', { ...subnet('fd88::/64'), Internal: true });
    const one = await serve('six');
    const same = await serve('six');
    const to = await address(one, 'six');
    await until('an answer', async () => (await asContainer(same, to, 80)) !== '');
    neighbour.echo(80);
    await until('the neighbour to listen', async () => (await asNeighbour('::1', 80)) !== '');
    expect(await asContainer(one, NEIGHBOUR, 80, 1.5)).toBe('');
    expect(await closedTo(to, 80)).toBe('');
  });

  test.each([
    ['true', HOST],
    ['false', 'fd88::2'],
  ])('masquerade %s: a neighbour sees %s', async (masquerade, source) => {
    const Options = { 'com.docker.network.bridge.enable_ip_masquerade': masquerade };
    await create('six', { ...subnet('fd88::/64'), Options });
    const id = await serve('six');
    neighbour.echo(80);
    await until('the neighbour to listen', async () => (await asNeighbour('::1', 80)) !== '');
    await until('the way out', async () => (await asContainer(id, NEIGHBOUR, 80)) !== '');
    expect(await asContainer(id, NEIGHBOUR, 80)).toBe(source);
    // Answers come in, and nothing that was not asked for.
    expect(await closedTo(await address(id, 'six'), 80)).toBe('');
  });

  test('class 16: nothing is published wider than asked', async () => {
    await create('six', subnet('fd88::/64'));
    await create('four', { EnableIPv6: false });
    await serve('six', publish('0.0.0.0', '8805'));
    const dual = await serve('six', publish('', '8806'));
    const four = await serve('four', publish('', '8807'));
    await until('an answer', async () => (await asNeighbour(HOST, 8806)) !== '');
    await until('the server', async () => (await asContainer(four, '127.0.0.1', 80)) !== '');
    expect(await Promise.all([8805, 8807].map((port) => closedTo(HOST, port)))).toEqual(['', '']);
    expect(await asNeighbour(HOST, 8806)).toBe(NEIGHBOUR);
    expect(await bindings(dual)).toEqual(['0.0.0.0', '::']);
    if (!onReference) {
      expect(await bindings(four)).toEqual(['0.0.0.0']);
      const asked = await engine.create(['true'], { NetworkMode: 'four', ...publish('::', '8808') });
      const answer = await engine.http.request('POST', `/containers/${asked}/start`);
      expect([answer.status, answer.text]).toEqual([
        500,
        expect.stringContaining(
          '80/tcp cannot be published on ::: the container has no address of that family',
        ),
      ]);
    }
  });

  test.skipIf(onReference)(
    'class 16: interfaces have no IPv6 that nobody asked for, and nobody believes a router that is none',
    async () => {
      await create('four', { EnableIPv6: false });
      await create('six', subnet('fd88::/64'));
      const four = await serve('four');
      expect((await engine.exec(four, ['cat', `${IPV6}/eth0/disable_ipv6`])).stdout).toBe('1\n');
      const victim = await serve('six');
      expect((await engine.exec(victim, ['cat', `${IPV6}/eth0/accept_ra`])).stdout).toBe('0\n');
      // Shows that it is an advertisement that somebody could believe.
      const believer = await serve('six', { Sysctls: { 'net.ipv6.conf.eth0.accept_ra': '1' } });
      const rogue = await serve('six');
      const addresses = async (id: string): Promise<string> =>
        (await engine.exec(id, ['ip', '-6', 'addr', 'show', 'dev', 'eth0'])).stdout;
      const settled = (id: string): Promise<void> =>
        until('its own link-local address', async () => {
          const text = await addresses(id);
          return text.includes('fe80::') && !text.includes('tentative');
        });
      await Promise.all([settled(victim), settled(believer), settled(rogue)]);
      const received = async (): Promise<boolean> => {
        const counts = [
          (await engine.exec(victim, ['cat', '/proc/net/snmp6'])).stdout,
          await engine.daemon.netns.run('cat', '/proc/net/snmp6'),
        ];
        return counts.every((text) => Number(/Icmp6InRouterAdvertisements\s+(\d+)/.exec(text)?.[1]) > 0);
      };
      expect(await received()).toBe(false);
      expect(await engine.exec(rogue, ['/usr/bin/python3', '-c', ADVERTISE])).toMatchObject({ exitCode: 0 });
      await until('somebody to believe it', async () => (await addresses(believer)).includes(PREFIX));
      await until('all to have heard it', received);
      expect(await addresses(victim)).not.toContain(PREFIX);
      expect((await engine.exec(victim, ['ip', '-6', 'route'])).stdout).toMatch(/^default via fd88::1 /m);
      expect((await engine.exec(victim, ['ip', '-6', 'route'])).stdout).not.toContain(PREFIX);
      const ofTheHost = [
        await engine.daemon.netns.run('ip', '-6', 'addr'),
        await engine.daemon.netns.run('ip', '-6', 'route'),
      ].join('');
      expect(ofTheHost).toContain('fd88::1');
      expect(ofTheHost).not.toContain(PREFIX);
      expect(ofTheHost).not.toContain('default');
    },
  );

  test.skipIf(onReference)(
    'networks that name no subnet get unique local ones, which they keep',
    async () => {
      await create('six');
      await create('seven');
      const subnets = (): Promise<(string | undefined)[]> =>
        Promise.all(
          ['six', 'seven'].map(async (name) => {
            const { IPAM } = await engine.http.ok<NetworkInspect>('GET', `/networks/${name}`);
            return IPAM.Config.map(({ Subnet = '' }) => Subnet).find((each) => each.includes(':'));
          }),
        );
      const [one = '', two = ''] = await subnets();
      const [, prefix = ''] = /^(fd[0-9a-f]{2}:[0-9a-f]{1,4}:[0-9a-f]{1,4})::\/64$/.exec(one) ?? [];
      expect(prefix).not.toBe('');
      expect(two).toBe(`${prefix}:1::/64`);
      const id = await serve('seven');
      await engine.daemon.restart();
      expect(await subnets()).toEqual([one, two]);
      expect(await address(id, 'seven')).toBe(`${prefix}:1::2`);
      await until('an answer', async () => (await asContainer(id, `${prefix}:1::2`, 80)) !== '');
    },
  );

  test('names have AAAA records', async () => {
    await create('six', subnet('fd88::/64'));
    await serve('six', {}, 'web');
    const asker = await serve('six');
    const look = `import socket
print([a[4][0] for a in socket.getaddrinfo('web', 80, socket.AF_INET6, socket.SOCK_STREAM)])`;
    expect((await engine.exec(asker, ['/usr/bin/python3', '-c', look])).stdout).toBe("['fd88::2']\n");
  });
});

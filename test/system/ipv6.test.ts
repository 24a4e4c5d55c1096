import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine.ts';
import { until } from '../support/http.ts';

const PYTHON = ['/usr:/usr:ro', '/lib:/lib:ro', '/lib64:/lib64:ro'];
/** Answers each connection with the address it comes from. The machine's own Python: busybox has no such server. */
const ECHO = `import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('::', 80))
s.listen(9)
while True:
    c, peer = s.accept()
    c.sendall(peer[0].encode())
    c.close()`;
const ASK = `import socket, sys
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 1.5)
    print(s.recv(99).decode(), end='')
except OSError:
    print('', end='')`;
const SERVER = ['/usr/bin/python3', '-c', ECHO];
/** The link between the daemon's host and a neighbour of it; `eth0` is the one interface that the oracle looks past. */
const HOST = 'fd99::1';
const NEIGHBOUR = 'fd99::2';

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
  let neighbour = '';
  const clients: ChildProcess[] = [];

  beforeEach(async () => {
    neighbour = `${engine.daemon.name}n`;
    execFileSync('ip', ['netns', 'add', neighbour]);
    const host = (...args: string[]): Promise<string> => engine.daemon.netns.run('ip', ...args);
    await host('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'lan1', 'netns', neighbour);
    await host('addr', 'add', `${HOST}/64`, 'dev', 'eth0', 'nodad');
    await host('link', 'set', 'eth0', 'up');
    for (const args of [
      ['addr', 'add', `${NEIGHBOUR}/64`, 'dev', 'lan1', 'nodad'],
      ['link', 'set', 'lan1', 'up'],
      ['link', 'set', 'lo', 'up'],
      ['route', 'add', 'fd00::/8', 'via', HOST],
    ]) {
      execFileSync('ip', ['-n', neighbour, ...args]);
    }
  });
  afterEach(async () => {
    clients.splice(0).forEach((client) => client.kill('SIGKILL'));
    await engine.removeAll();
    await engine.http.ok('POST', '/networks/prune');
    await engine.daemon.netns.run('ip', 'link', 'del', 'eth0');
    execFileSync('ip', ['netns', 'del', neighbour]);
  });

  const create = (Name: string, more: object = {}): Promise<{ Id: string }> =>
    engine.http.ok('POST', '/networks/create', { Name, EnableIPv6: true, ...more });
  const serve = (network: string, host: object = {}, name?: string): Promise<string> =>
    engine.start(SERVER, { NetworkMode: network, Binds: PYTHON, ...host }, {}, name);
  const address = async (id: string, network: string): Promise<string> =>
    (await engine.inspect(id)).NetworkSettings.Networks[network]?.GlobalIPv6Address ?? '';
  const asNeighbour = (to: string, port: number): string =>
    execFileSync('nsenter', [`--net=/run/netns/${neighbour}`, 'python3', '-c', ASK, to, String(port)], {
      encoding: 'utf8',
    });
  const asContainer = async (id: string, to: string, port: number): Promise<string> =>
    (await engine.exec(id, ['/usr/bin/python3', '-c', ASK, to, String(port)])).stdout;

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
    const seen = async (): Promise<string[]> => [
      asNeighbour(HOST, 8801),
      asNeighbour(HOST, 8802),
      asNeighbour(HOST, 8803),
      asNeighbour(await address(bare, 'six'), 80),
      asNeighbour(await address(everywhere, 'six'), 80),
    ];
    await until('an answer', () => asNeighbour(HOST, 8802) !== '');
    expect(await seen()).toEqual([NEIGHBOUR, NEIGHBOUR, '', '', '']);
    if (!onReference) {
      await engine.daemon.netns.run('nft', 'flush', 'ruleset');
      await until('the rules to be back', () => asNeighbour(HOST, 8801) !== '');
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
    expect(await asContainer(other, to, 80)).toBe('');
    expect(await asContainer(other, HOST, 8804)).not.toBe('');
    expect(await asContainer(same, 'fd88::1', 8804)).not.toBe('');
    expect(await asContainer(one, 'fd88::1', 8804)).not.toBe('');
  });

  test('class 17: an internal network leads nowhere', async () => {
    await create('six', { ...subnet('fd88::/64'), Internal: true });
    const one = await serve('six');
    const same = await serve('six');
    const to = await address(one, 'six');
    await until('an answer', async () => (await asContainer(same, to, 80)) !== '');
    const listener = [`--net=/run/netns/${neighbour}`, ...SERVER];
    clients.push(spawn('nsenter', listener, { stdio: 'ignore' }));
    await until('the neighbour to listen', () => asNeighbour('::1', 80) !== '');
    expect(await asContainer(one, NEIGHBOUR, 80)).toBe('');
    expect(asNeighbour(to, 80)).toBe('');
  });

  test.each([
    ['true', HOST],
    ['false', 'fd88::2'],
  ])('masquerade %s: a neighbour sees %s', async (masquerade, source) => {
    const Options = { 'com.docker.network.bridge.enable_ip_masquerade': masquerade };
    await create('six', { ...subnet('fd88::/64'), Options });
    const id = await serve('six');
    clients.push(spawn('nsenter', [`--net=/run/netns/${neighbour}`, ...SERVER], { stdio: 'ignore' }));
    await until('the neighbour to listen', () => asNeighbour('::1', 80) !== '');
    await until('the way out', async () => (await asContainer(id, NEIGHBOUR, 80)) !== '');
    expect(await asContainer(id, NEIGHBOUR, 80)).toBe(source);
    // Answers come in, and nothing that was not asked for.
    expect(asNeighbour(await address(id, 'six'), 80)).toBe('');
  });

  test('names have AAAA records', async () => {
    await create('six', subnet('fd88::/64'));
    await serve('six', {}, 'web');
    const asker = await serve('six');
    const look = `import socket
print([a[4][0] for a in socket.getaddrinfo('web', 80, socket.AF_INET6, socket.SOCK_STREAM)])`;
    expect((await engine.exec(asker, ['/usr/bin/python3', '-c', look])).stdout).toBe("['fd88::2']\n");
  });
});

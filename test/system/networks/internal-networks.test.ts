import { spawn, type ChildProcess } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { Neighbour } from '../../support/engine/neighbour.ts';

const PYTHON = ['/usr:/usr:ro', '/lib:/lib:ro', '/lib64:/lib64:ro'];
const HOST = ['10.98.0.1', 'fd98::1'];
/** The bridges' own addresses, by network. */
const GATEWAYS = { inside: ['10.96.0.1', 'fd96::1'], blue: ['10.97.0.1', 'fd97::1'] };
const PUBLISHED = 8700;
const SERVICE = 9999;

/** Prints what comes in by TCP and UDP at these ports of both families, one line each, and answers it by the same. */
const RECEIVE = `import itertools, select, socket, sys
socks = []
for port in map(int, sys.argv[1:]):
    for family, kind in itertools.product(('AF_INET', 'AF_INET6'), (socket.SOCK_STREAM, socket.SOCK_DGRAM)):
        s = socket.socket(getattr(socket, family), kind)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == 'AF_INET6': s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.bind(('', port))
        if kind == socket.SOCK_STREAM: s.listen(64)
        socks.append(s)
print('ready', flush=True)
while True:
    for s in select.select(socks, [], [])[0]:
        if s.type == socket.SOCK_STREAM:
            c, peer = s.accept()
            c.settimeout(5)
            text = c.recv(200)
            c.close()
        else:
            text, peer = s.recvfrom(200)
        print(text.decode(), flush=True)`;

/** Says \`<prefix> <kind> <address> <port>\` to each address and port, by TCP and UDP, and waits for none of them. */
const SHOUT = `import select, socket, sys, time
prefix, seconds, ports, targets = sys.argv[1], float(sys.argv[2]), sys.argv[3].split(','), sys.argv[4:]
calls, kept = {}, []
for target in targets:
    for port in ports:
        for kind in ('tcp', 'udp'):
            text = f'{prefix} {kind} {target} {port}'.encode()
            family, _, _, _, to = socket.getaddrinfo(target, int(port), proto=6)[0]
            s = socket.socket(family, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.setblocking(False)
            try:
                if kind == 'udp':
                    for _ in range(3): s.sendto(text, to)
                else:
                    calls[s] = text
                    s.connect(to)
            except BlockingIOError: pass
            except OSError: calls.pop(s, None)
            kept.append(s)
end = time.monotonic() + seconds
while calls and time.monotonic() < end:
    for s in select.select([], list(calls), [], 0.1)[1]:
        try: s.send(calls.pop(s))
        except OSError: pass
time.sleep(0.2)`;

/** What was heard of those that speak under this name, each thing once. */
function heard(text: string, prefix: string): string[] {
  return [...new Set(text.split('\n').filter((line) => line.startsWith(prefix)))].toSorted();
}

/** dockerd 20.10 keeps only what is routed in, and of that only IPv4. */
function isKept(line: string): boolean {
  return !onReference || !line.includes('fd97::');
}

describeEngine('internal networks', (engine) => {
  let neighbour: Neighbour;
  let service: ChildProcess | undefined;
  let heardByHost = '';

  beforeEach(async () => {
    neighbour = await Neighbour.beside(engine.daemon.netns, {
      host: HOST.map((address) => `${address}/${address.includes(':') ? 64 : 24}`),
      neighbour: ['10.98.0.2/24', 'fd98::2/64'],
    });
    const [file, ...args] = engine.daemon.netns.enter('python3', '-u', '-c', RECEIVE, String(SERVICE));
    heardByHost = '';
    service = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    service.stdout?.on('data', (chunk: Buffer) => (heardByHost += chunk.toString()));
    await until('the service of the host', () => heardByHost.includes('ready'));
  });
  afterEach(async () => {
    service?.kill('SIGKILL');
    await engine.removeAll();
    await engine.http.ok('POST', '/networks/prune');
    neighbour[Symbol.dispose]();
  });

  const create = (Name: keyof typeof GATEWAYS, more: object = {}): Promise<{ Id: string }> => {
    const Config = GATEWAYS[Name].map((Gateway) => ({
      Gateway,
      Subnet: Gateway.includes(':') ? Gateway.replace(/1$/, '/64') : Gateway.replace(/1$/, '0/24'),
    }));
    const body = { Name, EnableIPv6: true, IPAM: { Config }, ...more };
    return engine.http.ok('POST', '/networks/create', body);
  };
  const start = (network: string, command: string[], host: object = {}): Promise<string> =>
    engine.start(command, { NetworkMode: network, Binds: PYTHON, CapAdd: ['NET_ADMIN'], ...host });
  const receive = (network: string, host: object = {}): Promise<string> =>
    start(network, ['/usr/bin/python3', '-u', '-c', RECEIVE, '7'], host);
  const addresses = async (id: string, network: string): Promise<string[]> => {
    const { IPAddress = '', GlobalIPv6Address = '' } =
      (await engine.inspect(id)).NetworkSettings.Networks[network] ?? {};
    return [IPAddress, GlobalIPv6Address];
  };
  const shout = async (id: string, prefix: string, ports: number[], targets: string[]): Promise<void> => {
    const argv = ['/usr/bin/python3', '-c', SHOUT, prefix, '3', ports.join(','), ...targets];
    expect(await engine.exec(id, argv)).toEqual({ stdout: '', stderr: '', exitCode: 0 });
  };
  /** The bridge's own address of the link. */
  const linkLocal = async (Id: string): Promise<string> => {
    const bridge = `br-${Id.slice(0, 12)}`;
    const links = await engine.daemon.netns.run('ip', '-6', '-o', 'addr', 'show', 'scope', 'link');
    const line = links.split('\n').find((each) => each.includes(bridge) || each.includes(Id.slice(0, 10)));
    return /inet6 (fe80[^/]+)/.exec(line ?? '')?.[1] ?? '';
  };

  test('class 28: nothing leaves but to the network itself, by no route, protocol or published port', async () => {
    const { Id } = await create('inside', { Internal: true });
    await create('blue');
    const ports = [{ HostPort: String(PUBLISHED) }];
    const web = await receive('blue', { PortBindings: { '7/tcp': ports, '7/udp': ports } });
    const one = await start('inside', ['sleep', '1000']);
    const two = await receive('inside');
    const outside = await start('blue', ['sleep', '1000']);
    const [own4 = '', own6 = ''] = GATEWAYS.inside;
    const link = await linkLocal(Id);
    expect(link).toMatch(/^fe80/);

    // As a container with NET_ADMIN would: the bridge is to route everything.
    for (const [family, gateway] of [
      ['-4', own4],
      ['-6', link],
    ] as const) {
      const via = ['ip', family, 'route', 'replace', 'default', 'via', gateway, 'dev', 'eth0'];
      expect((await engine.exec(one, via)).stderr).toBe('');
    }
    const elsewhere = [...HOST, '10.98.0.2', 'fd98::2', ...GATEWAYS.blue, ...(await addresses(web, 'blue'))];
    const ofTheLink = [
      own4,
      own6,
      `${link}%eth0`,
      'ff02::1%eth0',
      '255.255.255.255',
      '224.0.0.1',
      '10.96.0.255',
    ];
    const everywhere = [PUBLISHED, SERVICE, 7];
    await shout(one, 'inside', everywhere, [...elsewhere, ...ofTheLink]);

    // What would have heard it hears others.
    await shout(outside, 'outside', everywhere, elsewhere);
    const atWeb = async (): Promise<string> => (await engine.logs(web)).stdout;
    await until('the container to hear all', async () => {
      return heard(await atWeb(), 'outside').length >= (onReference ? 1 : 10);
    });
    await until('the host to hear all', () => heard(heardByHost, 'outside').length >= 8);
    expect(heard(await atWeb(), 'inside').filter(isKept)).toEqual([]);
    if (!onReference) {
      expect(heard(heardByHost, 'inside')).toEqual([]);
    }

    // Its members, and the host, reach each other by all of this. (With br_netfilter dockerd keeps groups apart.)
    const members = [...(await addresses(two, 'inside')), 'ff02::1%eth0', '224.0.0.1', '255.255.255.255'];
    await shout(one, 'members', [7], members);
    const atTwo = async (): Promise<string[]> => heard((await engine.logs(two)).stdout, 'members');
    await expect.poll(atTwo).toHaveLength(onReference ? 5 : 7);
    const call = ['python3', '-c', SHOUT, 'host', '3', '7', ...members.slice(0, 2)];
    const [file, ...args] = engine.daemon.netns.enter(...call);
    spawn(file, args, { stdio: 'inherit' });
    const fromHost = async (): Promise<string[]> => heard((await engine.logs(two)).stdout, 'host');
    await expect.poll(async () => (await fromHost()).length).toBe(4);
  });

  test.skipIf(onReference)(
    'class 28: on a bridge of the administrator, which has IPv6, and accepted by a rule of the administrator',
    async () => {
      const { netns } = engine.daemon;
      await netns.run('ip', 'link', 'add', 'admin0', 'type', 'bridge');
      await netns.run('ip', 'link', 'set', 'admin0', 'up');
      try {
        const Options = { 'com.docker.network.bridge.name': 'admin0' };
        await create('inside', {
          Internal: true,
          EnableIPv6: false,
          Options,
          IPAM: { Config: [{ Subnet: '10.96.0.0/24', Gateway: '10.96.0.1' }] },
        });
        const tables = (await netns.run('nft', 'list', 'tables')).match(/ip6? berth\w*/g) ?? [];
        for (const table of tables) {
          await netns.run('nft', `add rule ${table} user accept`);
        }
        const one = await start('inside', ['sleep', '1000'], { Privileged: true });
        const settings = '/proc/sys/net/ipv6/conf/eth0';
        const up = `cd ${settings}; echo 0 >accept_dad; echo 0 >disable_ipv6; ip route add default via 10.96.0.1`;
        expect((await engine.exec(one, ['sh', '-c', up])).stderr).toBe('');
        await shout(one, 'inside', [SERVICE], [...HOST, '10.96.0.1', 'ff02::1%eth0']);
        await shout(await start('bridge', ['sleep', '1000']), 'outside', [SERVICE], HOST.slice(0, 1));
        await until('the host to hear', () => heard(heardByHost, 'outside').length === 2);
        expect(heard(heardByHost, 'inside')).toEqual([]);
        for (const table of tables) {
          await netns.run('nft', `flush chain ${table} user`);
        }
      } finally {
        await engine.removeAll();
        await netns.run('ip', 'link', 'del', 'admin0');
      }
    },
  );
});

import net from 'node:net';
import path from 'node:path';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox, SandboxRequest } from '../../../daemon/containers/ports.ts';
import { systemClock } from '../../../daemon/base/clock.ts';
import { newId } from '../../../daemon/base/ids.ts';
import { silentLogger } from '../../../daemon/base/log.ts';
import { hostFiles } from '../../../daemon/networks/host-files.ts';
import { NetworkState } from '../../../daemon/networks/network-state.ts';
import { Networks } from '../../../daemon/networks/networks.ts';
import { defaultNetworkOptions } from '../../../daemon/networks/options.ts';
import { Sandboxes } from '../../../daemon/networks/sandboxes.ts';
import { KernelNetwork } from '../../../runtime/network/kernel-network.ts';
import { needs } from '../../support/needs.ts';
import { ThrowAwayHost, command } from './host-namespace.ts';

const BRIDGE = 'bthtest0';
const options = { ...defaultNetworkOptions, bridge: BRIDGE, bip: '10.77.0.1/24' };
const meta = new Map<string, string>();
let host: ThrowAwayHost;
let engine: ReturnType<typeof startEngine>;

/** What a daemon has after its start; calling it again is a daemon after kill -9. */
function startEngine() {
  const kernel = new KernelNetwork({
    settings: {
      namespaceDirectory: path.join(host.directory, 'netns'),
      interfacePrefix: 'btt',
      table: 'berthtest',
      ipForward: true,
    },
    log: silentLogger,
    clock: systemClock,
  });
  const table = {
    get: (key: string) => meta.get(key),
    set: (key: string, value: string) => void meta.set(key, value),
  };
  const state = new NetworkState({ meta: table, clock: systemClock });
  const sandboxes = new Sandboxes({ kernel, state, options, files: hostFiles, log: silentLogger });
  const networks = new Networks({ state, options, containerName: () => 'web' });
  return { kernel, sandboxes, networks };
}

function request(overrides: Partial<SandboxRequest> = {}): SandboxRequest {
  return {
    containerId: newId(),
    containerName: '/web',
    hostname: 'web',
    domainname: '',
    networkMode: 'bridge',
    endpoints: {},
    exposedPorts: [],
    portBindings: {},
    publishAllPorts: false,
    dns: [],
    dnsSearch: [],
    dnsOptions: [],
    extraHosts: [],
    ...overrides,
  };
}

function publish(...bindings: string[]): SandboxRequest['portBindings'] {
  return Object.fromEntries(
    bindings.map((binding) => {
      const [, hostIp = '', hostPort = '', port = ''] = /^(?:([\d.]+):)?(\d*):(.*)$/.exec(binding) ?? [];
      return [port, [{ HostIp: hostIp, HostPort: hostPort }]];
    }),
  );
}

function netns(sandbox: Sandbox): string {
  return sandbox.netnsPath ?? '';
}

function address(sandbox: Sandbox): string {
  return sandbox.endpoints['bridge']?.IPAddress ?? '';
}

/** What is in the kernel for this instance. */
function kernelState(): { namespaces: string[]; links: string[]; elements: string[] } {
  const directory = path.join(host.directory, 'netns');
  const links = command('ip', '-o', 'link').split('\n');
  return {
    namespaces: existsSync(directory) ? readdirSync(directory) : [],
    links: links.map((line) => line.split(/[:@] ?/)[1] ?? '').filter((name) => name.startsWith('btt')),
    elements: ['published_any', 'published_at'].flatMap(
      (map) =>
        /elements = \{([^}]*)\}/.exec(command('nft', 'list', 'map', 'ip', 'berthtest', map))?.[1]?.trim() ??
        [],
    ),
  };
}

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('the default bridge', () => {
  beforeAll(async () => {
    host = new ThrowAwayHost();
    engine = startEngine();
    await engine.sandboxes.restore([]);
    host.routeFromNeighbour('10.77.0.0/24');
  });

  afterAll(() => {
    host[Symbol.dispose]();
  });

  describe('a bridged sandbox', () => {
    it('reaches its neighbours in the bridge, the host and the LAN, and is described as dockerd does', async () => {
      const first = request();
      const a = await engine.sandboxes.open(first);
      const b = await engine.sandboxes.open(request());
      await host.serve(netns(b), 80, 'b');
      await host.serve(host.neighbour, 80, 'neighbour');

      expect(host.ask(netns(a), 'tcp', address(b), 80)).toBe(`ok:b ${address(a)}`);
      expect(host.ask(netns(a), 'udp', address(b), 80)).toBe(`ok:b ${address(a)}`);
      expect(host.ask(null, 'tcp', address(b), 80)).toBe('ok:b 10.77.0.1');
      expect(host.ask(netns(a), 'tcp', '192.0.2.2', 80)).toBe(`ok:neighbour ${host.lanAddress}`);
      expect(a.endpoints).toEqual({
        bridge: {
          IPAMConfig: null,
          Links: null,
          Aliases: null,
          MacAddress: '02:42:0a:4d:00:02',
          DriverOpts: null,
          NetworkID: expect.stringMatching(/^[0-9a-f]{64}$/),
          EndpointID: expect.stringMatching(/^[0-9a-f]{64}$/),
          Gateway: '10.77.0.1',
          IPAddress: '10.77.0.2',
          IPPrefixLen: 24,
          IPv6Gateway: '',
          GlobalIPv6Address: '',
          GlobalIPv6PrefixLen: 0,
          DNSNames: null,
        },
      });
      expect(a.hosts).toMatch(/\n10\.77\.0\.2\tweb\n$/);
      expect(command('nsenter', `--net=${netns(a)}`, 'ip', '-br', 'address').replaceAll(/ +/g, ' ')).toBe(
        'lo UNKNOWN 127.0.0.1/8 ::1/128 \neth0@if' +
          `${/eth0@if(\d+)/.exec(command('nsenter', `--net=${netns(a)}`, 'ip', 'link'))?.[1]} UP 10.77.0.2/24`,
      );
      expect((await engine.networks.inspect('bridge')).Containers[first.containerId]).toEqual({
        Name: 'web',
        EndpointID: a.endpoints['bridge']?.EndpointID,
        MacAddress: '02:42:0a:4d:00:02',
        IPv4Address: '10.77.0.2/24',
        IPv6Address: '',
      });
      await engine.sandboxes.close(first.containerId, a);
      await engine.sandboxes.close(b.ownerId, b);
    });

    it('gives everything back when it is closed, twice if need be, and its address to the next', async () => {
      const a = await engine.sandboxes.open(request({ portBindings: publish('8081:80/tcp') }));
      await engine.sandboxes.close(a.ownerId, a);
      await engine.sandboxes.close(a.ownerId, a);
      const b = await engine.sandboxes.open(request({ portBindings: publish('8081:80/tcp') }));
      expect(address(b)).toBe(address(a));
      await host.serve(netns(b), 80, 'b');
      expect(host.ask(null, 'tcp', '127.0.0.1', 8081)).toMatch(/^ok:b/);
      await engine.sandboxes.close(b.ownerId, undefined);
      await expect.poll(kernelState, { timeout: 3000 }).toEqual({ namespaces: [], links: [], elements: [] });
    });

    it('is cut off at once when it is closed, even while a process holds on to its namespace', async () => {
      const a = await engine.sandboxes.open(request());
      await host.serve(netns(a), 80, 'a');
      await engine.sandboxes.close(a.ownerId, a);
      expect(host.ask(null, 'tcp', address(a), 80)).not.toMatch(/^ok/);
      await expect.poll(() => kernelState().links, { timeout: 3000 }).toEqual([]);
    });

    it('finds its bridge again after somebody deleted it', async () => {
      const a = await engine.sandboxes.open(request());
      command('ip', 'link', 'delete', BRIDGE);
      command('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
      command('ip', 'address', 'add', '10.99.0.1/24', 'dev', BRIDGE);
      const b = await engine.sandboxes.open(request());
      await host.serve(netns(a), 80, 'a');
      expect(command('ip', '-br', '-4', 'address', 'show', BRIDGE)).toMatch(/ 10\.77\.0\.1\/24$/);
      expect(host.ask(netns(b), 'tcp', address(a), 80)).toMatch(/^ok:a/);
      await engine.sandboxes.close(a.ownerId, a);
      await engine.sandboxes.close(b.ownerId, b);
    });
  });

  describe('a sandbox without a network', () => {
    it('has a loopback interface and nothing else', async () => {
      const a = await engine.sandboxes.open(
        request({ networkMode: 'none', portBindings: publish('8085:80/tcp') }),
      );
      expect(command('nsenter', `--net=${netns(a)}`, 'ip', '-br', 'link')).toMatch(/^lo +UNKNOWN[^\n]*$/);
      expect(a.ports).toEqual({});
      await engine.sandboxes.close(a.ownerId, a);
    });
  });

  describe('a published port', () => {
    let web: Sandbox;
    let other: Sandbox;
    beforeAll(async () => {
      const bindings = publish('8080:80/tcp', ':80/udp', '127.0.0.1:8082:82/tcp', `192.0.2.1:8083:83/tcp`);
      web = await engine.sandboxes.open(request({ portBindings: bindings, exposedPorts: ['84/tcp'] }));
      other = await engine.sandboxes.open(request());
      for (const port of [80, 82, 83, 84]) {
        await host.serve(netns(web), port, `web${port}`);
      }
    });
    afterAll(async () => {
      await engine.sandboxes.close(web.ownerId, web);
      await engine.sandboxes.close(other.ownerId, other);
    });

    const udpPort = () => Number(web.ports['80/udp']?.[0]?.HostPort);
    const from = {
      host: () => null,
      neighbour: () => host.neighbour,
      container: () => netns(other),
      itself: () => netns(web),
    };

    it.each([
      ['the host by loopback', 'host', 'tcp', '127.0.0.1', 8080, /^ok:web80 10\.77\.0\.1$/],
      ['the host by its own address', 'host', 'tcp', '192.0.2.1', 8080, /^ok:web80 192\.0\.2\.1$/],
      ['the host by the gateway', 'host', 'tcp', '10.77.0.1', 8080, /^ok:web80/],
      [
        'a neighbour, who keeps its address',
        'neighbour',
        'tcp',
        '192.0.2.1',
        8080,
        /^ok:web80 192\.0\.2\.2$/,
      ],
      ['a neighbour by udp', 'neighbour', 'udp', '192.0.2.1', 0, /^ok:web80 192\.0\.2\.2$/],
      ['the host by udp', 'host', 'udp', '127.0.0.1', 0, /^ok:web80/],
      ['another container by the gateway', 'container', 'tcp', '10.77.0.1', 8080, /^ok:web80/],
      ['another container by the LAN address', 'container', 'tcp', '192.0.2.1', 8080, /^ok:web80/],
      ['the container itself by the host', 'itself', 'tcp', '10.77.0.1', 8080, /^ok:web80/],
      ['the host when published on its loopback', 'host', 'tcp', '127.0.0.1', 8082, /^ok:web82/],
      ['a neighbour when published on the LAN address', 'neighbour', 'tcp', '192.0.2.1', 8083, /^ok:web83/],
    ] as const)('is reached by %s', (_who, origin, protocol, target, port, answer) => {
      expect(host.ask(from[origin](), protocol, target, port || udpPort())).toMatch(answer);
    });

    it.each([
      ['a neighbour when published on loopback', 'neighbour', '192.0.2.1', 8082],
      ['the loopback when published on the LAN address', 'host', '127.0.0.1', 8083],
      ['a neighbour who routes to the container', 'neighbour', '10.77.0.2', 80],
      ['a neighbour who routes to a port published on loopback', 'neighbour', '10.77.0.2', 82],
      ['a neighbour who routes to an exposed port', 'neighbour', '10.77.0.2', 84],
    ] as const)('is out of reach for %s', (_who, origin, target, port) => {
      expect(host.ask(from[origin](), 'tcp', target, port)).toMatch(/^(timeout|refused)$/);
    });

    it('on loopback is out of reach for a neighbour who routes 127.0.0.0/8, though the host routes it too', () => {
      command('sysctl', '-qw', 'net.ipv4.conf.lan0.route_localnet=1');
      const inNeighbour = (...argv: string[]) => command('nsenter', `--net=${host.neighbour}`, ...argv);
      inNeighbour('sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1');
      inNeighbour('ip', 'rule', 'add', 'pref', '1', 'to', '127.0.0.9', 'lookup', '99');
      inNeighbour('ip', 'route', 'add', '127.0.0.9/32', 'via', host.lanAddress, 'dev', 'lan1', 'table', '99');
      inNeighbour('ip', 'rule', 'delete', 'pref', '0');
      inNeighbour('ip', 'rule', 'add', 'pref', '10', 'lookup', 'local');
      expect(host.ask(host.neighbour, 'tcp', '127.0.0.9', 8082)).toMatch(/^(timeout|refused)$/);
    });

    it('never opens the loopback of the host to containers', async () => {
      const server = net.createServer((socket) => socket.end('secret')).listen(9999, '127.0.0.1');
      await once(server, 'listening');
      const inContainer = (...argv: string[]) => command('nsenter', `--net=${netns(other)}`, ...argv);
      inContainer('ip', 'rule', 'add', 'pref', '1', 'to', '127.0.0.1', 'lookup', '99');
      inContainer('ip', 'route', 'add', '127.0.0.1/32', 'via', '10.77.0.1', 'dev', 'eth0', 'table', '99');
      inContainer('ip', 'rule', 'delete', 'pref', '0');
      inContainer('sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1');
      inContainer('ip', 'rule', 'add', 'pref', '10', 'lookup', 'local');
      expect(host.ask(netns(other), 'tcp', '127.0.0.1', 9999)).toBe('timeout');
      server.close();
    });

    it('is described by its host bindings, an exposed one by null', () => {
      expect(web.ports).toEqual({
        '80/tcp': [{ HostIp: '0.0.0.0', HostPort: '8080' }],
        '80/udp': [{ HostIp: '0.0.0.0', HostPort: expect.stringMatching(/^\d{5}$/) }],
        '82/tcp': [{ HostIp: '127.0.0.1', HostPort: '8082' }],
        '83/tcp': [{ HostIp: '192.0.2.1', HostPort: '8083' }],
        '84/tcp': null,
      });
    });

    it('that another container has is refused in the words of dockerd, and nothing is left', async () => {
      const before = kernelState();
      await expect(
        engine.sandboxes.open(request({ portBindings: publish('7000:70/tcp', '8080:80/tcp') })),
      ).rejects.toThrow(
        /^driver failed programming external connectivity on endpoint web \([0-9a-f]{64}\): Bind for 0\.0\.0\.0:8080 failed: port is already allocated$/,
      );
      expect(kernelState()).toEqual(before);
      const server = net.createServer().listen(7000, '0.0.0.0');
      await once(server, 'listening');
      server.close();
    });

    it('that a process of the host has is refused, and one that is published no process can take', async () => {
      const server = net.createServer().listen(7001, '127.0.0.1');
      await once(server, 'listening');
      await expect(engine.sandboxes.open(request({ portBindings: publish('7001:70/tcp') }))).rejects.toThrow(
        /failed to bind host port 0\.0\.0\.0:7001\/tcp: address already in use$/,
      );
      server.close();
      const [error] = await once(net.createServer().listen(8080, '127.0.0.1'), 'error').catch((e) => [e]);
      expect(error).toMatchObject({ code: 'EADDRINUSE' });
    });

    it('on an address that the host has not is refused', async () => {
      await expect(
        engine.sandboxes.open(request({ portBindings: publish('198.51.100.1:7002:70/tcp') })),
      ).rejects.toThrow(
        /failed to bind host port 198\.51\.100\.1:7002\/tcp: cannot assign requested address$/,
      );
    });

    it('works on after somebody flushed all rules and another port was published', async () => {
      command('nft', 'flush', 'ruleset');
      const more = await engine.sandboxes.open(request({ portBindings: publish('7003:70/tcp') }));
      expect(host.ask(host.neighbour, 'tcp', '192.0.2.1', 8080)).toMatch(/^ok:web80/);
      await engine.sandboxes.close(more.ownerId, more);
    });
  });

  describe('a udp client that goes on sending', () => {
    it('reaches the container that has the port now, not the one that had it', async () => {
      const ask = () =>
        command(
          'nsenter',
          `--net=${host.neighbour}`,
          process.execPath,
          probe,
          'udp',
          '192.0.2.1',
          '5353',
          '40000',
        );
      const probe = path.join(import.meta.dirname, 'fixtures', 'probe.mjs');
      const portBindings = publish('5353:53/udp');
      const a = await engine.sandboxes.open(request({ portBindings }));
      await host.serve(netns(a), 53, 'a');
      expect(ask()).toMatch(/^ok:a/);
      await engine.sandboxes.close(a.ownerId, a);
      const blocker = await engine.sandboxes.open(request());
      expect(ask()).not.toMatch(/^ok/);
      const b = await engine.sandboxes.open(request({ portBindings }));
      await host.serve(netns(b), 53, 'b');
      expect(ask()).toMatch(/^ok:b/);
      await engine.sandboxes.close(b.ownerId, b);
      await engine.sandboxes.close(blocker.ownerId, blocker);
    });
  });

  describe('restore()', () => {
    it('takes over the live sandbox, forgets the dead one and keeps the rules of the administrator', async () => {
      const live = request({ portBindings: publish('8090:80/tcp') });
      const dead = request({ portBindings: publish('8091:80/tcp') });
      const a = await engine.sandboxes.open(live);
      const b = await engine.sandboxes.open(dead);
      await host.serve(netns(a), 80, 'a');
      command('nft', 'add', 'rule', 'ip', 'berthtest', 'user', 'ip', 'saddr', '198.51.100.7', 'drop');

      const before = engine;
      for (const port of [8090, 8091]) {
        // A killed daemon's sockets are closed by the kernel.
        before.kernel.release({ protocol: 'tcp', hostAddress: 0, hostPort: port });
      }
      engine = startEngine();
      await engine.sandboxes.restore([{ containerId: live.containerId, containerName: 'web', sandbox: a }]);

      await expect.poll(kernelState, { timeout: 3000 }).toEqual({
        namespaces: [live.containerId],
        links: [expect.stringMatching(/^btt/)],
        elements: ['tcp . 8090 : 10.77.0.2 . 80'],
      });
      expect(host.ask(host.neighbour, 'tcp', '192.0.2.1', 8090)).toMatch(/^ok:a/);
      expect(command('nft', 'list', 'chain', 'ip', 'berthtest', 'user')).toContain('198.51.100.7');
      const next = await engine.sandboxes.open(request({ portBindings: publish('8091:80/tcp') }));
      expect(address(next)).toBe(address(b));
      // Settling the dead one late must not hurt the one that has its port and address now.
      await engine.sandboxes.close(dead.containerId, b);
      await host.serve(netns(next), 80, 'next');
      expect(host.ask(host.neighbour, 'tcp', '192.0.2.1', 8091)).toMatch(/^ok:next/);
      await engine.sandboxes.close(next.ownerId, next);
      await engine.sandboxes.close(live.containerId, a);
      await expect.poll(kernelState, { timeout: 3000 }).toEqual({ namespaces: [], links: [], elements: [] });
    });
  });

  describe('speed', () => {
    it('opens and closes a bridged sandbox with a published port in a few milliseconds', async () => {
      const times: number[] = [];
      for (let round = 0; round < 30; round += 1) {
        const started = performance.now();
        const sandbox = await engine.sandboxes.open(request({ portBindings: publish('8095:80/tcp') }));
        await engine.sandboxes.close(sandbox.ownerId, sandbox);
        times.push(performance.now() - started);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const median = times.toSorted((x, y) => x - y)[15] ?? 0;
      console.log(`open + close: median ${median.toFixed(2)} ms, worst ${Math.max(...times).toFixed(2)} ms`);
      expect(median).toBeLessThan(20);
    });
  });
});

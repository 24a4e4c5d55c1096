import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../../daemon/networks/sandbox/sandbox.ts';
import { needs } from '../../support/needs.ts';
import { DefaultBridge, netns, publish, request } from './default-bridge.ts';
import { command } from './host-namespace.ts';

let bridge: DefaultBridge;

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('ports of the default bridge', () => {
  beforeAll(async () => {
    bridge = await DefaultBridge.start();
  });

  afterAll(() => {
    bridge.host[Symbol.dispose]();
  });

  describe('a published port', () => {
    let web: Sandbox;
    let other: Sandbox;
    beforeAll(async () => {
      const bindings = publish('8080:80/tcp', ':80/udp', '127.0.0.1:8082:82/tcp', `192.0.2.1:8083:83/tcp`);
      web = await bridge.sandboxes.open(request({ portBindings: bindings, exposedPorts: ['84/tcp'] }));
      other = await bridge.sandboxes.open(request());
      for (const port of [80, 82, 83, 84]) {
        await bridge.host.serve(netns(web), port, `web${port}`);
      }
    });
    afterAll(async () => {
      await bridge.sandboxes.close(web.ownerId, web);
      await bridge.sandboxes.close(other.ownerId, other);
    });

    const udpPort = () => Number(web.ports['80/udp']?.[0]?.HostPort);
    const from = {
      host: () => null,
      neighbour: () => bridge.host.neighbour,
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
    ] as const)('is reached by %s', async (_who, origin, protocol, target, port, answer) => {
      await expect
        .poll(() => bridge.host.ask(from[origin](), protocol, target, port || udpPort()))
        .toMatch(answer);
    });

    it.each([
      ['a neighbour when published on loopback', 'neighbour', '192.0.2.1', 8082],
      ['the loopback when published on the LAN address', 'host', '127.0.0.1', 8083],
      ['a neighbour who routes to the container', 'neighbour', '10.77.0.2', 80],
      ['a neighbour who routes to a port published on loopback', 'neighbour', '10.77.0.2', 82],
      ['a neighbour who routes to an exposed port', 'neighbour', '10.77.0.2', 84],
    ] as const)('is out of reach for %s', (_who, origin, target, port) => {
      expect(bridge.host.ask(from[origin](), 'tcp', target, port)).toMatch(/^(timeout|refused)$/);
    });

    it('on loopback is out of reach for a neighbour who routes 127.0.0.0/8, though the host routes it too', () => {
      command('sysctl', '-qw', 'net.ipv4.conf.lan0.route_localnet=1');
      const inNeighbour = (...argv: string[]) =>
        command('nsenter', `--net=${bridge.host.neighbour}`, ...argv);
      inNeighbour('sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1');
      inNeighbour('ip', 'rule', 'add', 'pref', '1', 'to', '127.0.0.9', 'lookup', '99');
      inNeighbour(
        'ip',
        'route',
        'add',
        '127.0.0.9/32',
        'via',
        bridge.host.lanAddress,
        'dev',
        'lan1',
        'table',
        '99',
      );
      inNeighbour('ip', 'rule', 'delete', 'pref', '0');
      inNeighbour('ip', 'rule', 'add', 'pref', '10', 'lookup', 'local');
      expect(bridge.host.ask(bridge.host.neighbour, 'tcp', '127.0.0.9', 8082)).toMatch(/^(timeout|refused)$/);
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
      expect(bridge.host.ask(netns(other), 'tcp', '127.0.0.1', 9999)).toBe('timeout');
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
      const before = bridge.kernelState();
      await expect(
        bridge.sandboxes.open(request({ portBindings: publish('7000:70/tcp', '8080:80/tcp') })),
      ).rejects.toThrow(
        /^driver failed programming .* on endpoint web \([0-9a-f]{64}\): Bind for 0\.0\.0\.0:8080 failed: port is/,
      );
      await expect.poll(() => bridge.kernelState()).toEqual(before);
      const server = net.createServer().listen(7000, '0.0.0.0');
      await once(server, 'listening');
      server.close();
    });

    it('that a process of the host has is refused, and one that is published no process can take', async () => {
      const server = net.createServer().listen(7001, '127.0.0.1');
      await once(server, 'listening');
      await expect(bridge.sandboxes.open(request({ portBindings: publish('7001:70/tcp') }))).rejects.toThrow(
        /failed to bind host port 0\.0\.0\.0:7001\/tcp: address already in use$/,
      );
      server.close();
      const [error] = await once(net.createServer().listen(8080, '127.0.0.1'), 'error').catch((e) => [e]);
      expect(error).toMatchObject({ code: 'EADDRINUSE' });
    });

    it('on an address that the host has not is refused', async () => {
      await expect(
        bridge.sandboxes.open(request({ portBindings: publish('198.51.100.1:7002:70/tcp') })),
      ).rejects.toThrow(
        /failed to bind host port 198\.51\.100\.1:7002\/tcp: cannot assign requested address$/,
      );
    });

    it('works on after somebody flushed all rules and another port was published', async () => {
      command('nft', 'flush', 'ruleset');
      const more = await bridge.sandboxes.open(request({ portBindings: publish('7003:70/tcp') }));
      await expect
        .poll(() => bridge.host.ask(bridge.host.neighbour, 'tcp', '192.0.2.1', 8080))
        .toMatch(/^ok:web80/);
      await bridge.sandboxes.close(more.ownerId, more);
    });
  });

  describe('a udp client that goes on sending', () => {
    it('R54: reaches the container that has the port now, not the one that had it', async () => {
      const ask = () =>
        command(
          'nsenter',
          `--net=${bridge.host.neighbour}`,
          process.execPath,
          probe,
          'udp',
          '192.0.2.1',
          '5353',
          '40000',
        );
      const probe = path.join(import.meta.dirname, 'fixtures', 'probe.mjs');
      const portBindings = publish('5353:53/udp');
      const a = await bridge.sandboxes.open(request({ portBindings }));
      await bridge.host.serve(netns(a), 53, 'a');
      await expect.poll(ask).toMatch(/^ok:a/);
      await bridge.sandboxes.close(a.ownerId, a);
      const blocker = await bridge.sandboxes.open(request());
      expect(ask()).not.toMatch(/^ok/);
      const b = await bridge.sandboxes.open(request({ portBindings }));
      await bridge.host.serve(netns(b), 53, 'b');
      await expect.poll(ask).toMatch(/^ok:b/);
      await bridge.sandboxes.close(b.ownerId, b);
      await bridge.sandboxes.close(blocker.ownerId, blocker);
    });
  });
});

import { spawn, type ChildProcess } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { PortMap } from '../../../api/types/host-config.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';

/** Listens on TCP and UDP, on both families, and answers nothing. By the machine's own Python. */
const SERVE = `import socket, threading, time
def listen(kind, port):
    s = socket.socket(socket.AF_INET6, kind)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(('::', port))
    return s
tcp = listen(socket.SOCK_STREAM, 80)
tcp.listen(9)
udp = listen(socket.SOCK_DGRAM, 53)
held = []
threading.Thread(target=lambda: [held.append(tcp.accept()) for _ in range(99)]).start()
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.sendto(b'hello', ('10.65.0.1', 9))
time.sleep(1000)`;
const SERVER = ['/usr/bin/python3', '-c', SERVE];
const PYTHON = ['/usr:/usr:ro', '/lib:/lib:ro', '/lib64:/lib64:ro'];

/** Connects, says something and stays. */
const STAY = `import socket, sys, time
kind, host, port = sys.argv[1:]
family = socket.AF_INET6 if ':' in host else socket.AF_INET
while True:
    s = socket.socket(family, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
    try:
        s.connect((host, int(port)))
        break
    except OSError:
        time.sleep(0.1)
s.send(b'hello')
time.sleep(1000)`;

function published(port: string): PortMap {
  return { '80/tcp': [{ HostIp: '', HostPort: port }], '53/udp': [{ HostIp: '', HostPort: port }] };
}

/** Addresses and ports of a line, which stay the same while it lives. */
function identity(line: string): string {
  return (line.match(/\b(?:src|dst|[sd]port)=\S+/g) ?? []).join(' ');
}

describeEngine('connections of a container that is gone', (engine) => {
  const clients: ChildProcess[] = [];
  const stay = (kind: string, host: string, port: number): void => {
    const [file, ...args] = engine.daemon.netns.enter('python3', '-c', STAY, kind, host, String(port));
    clients.push(spawn(file, args, { stdio: 'ignore' }));
  };
  /** Lines of the kernel's table that name one of these. */
  const flows = async (...needles: string[]): Promise<string[]> => {
    const table = await engine.daemon.netns.run('cat', '/proc/net/nf_conntrack');
    return table.split('\n').filter((line) => needles.some((needle) => line.includes(`=${needle} `)));
  };

  afterEach(async () => {
    clients.splice(0).forEach((client) => client.kill('SIGKILL'));
    await engine.removeAll();
    await engine.http.request('DELETE', '/networks/both');
  });

  // dockerd forgets those too (libnetwork, flushing by address), at disconnect and at the end.
  test.each(['kill', 'disconnect'])(
    'R54: of TCP and UDP, of both families, to it and from it, are forgotten after a %s',
    async (how) => {
      await engine.http.ok('POST', '/networks/create', {
        Name: 'both',
        EnableIPv6: true,
        IPAM: { Config: [{ Subnet: '10.65.0.0/24' }, { Subnet: 'fd65::/64' }] },
      });
      const id = await engine.start(
        SERVER,
        { NetworkMode: 'both', Binds: PYTHON, PortBindings: published('8651') },
        { ExposedPorts: { '80/tcp': {}, '53/udp': {} } },
      );
      const other = await engine.start(
        SERVER,
        { NetworkMode: 'both', Binds: PYTHON, PortBindings: published('8652') },
        { ExposedPorts: { '80/tcp': {}, '53/udp': {} } },
      );
      const addresses = async (container: string): Promise<string[]> => {
        const { IPAddress = '', GlobalIPv6Address = '' } =
          (await engine.inspect(container)).NetworkSettings.Networks['both'] ?? {};
        // As the table spells it.
        const groups = GlobalIPv6Address.replace('::', ':0000'.repeat(6) + ':').split(':');
        return [IPAddress, groups.map((group) => group.padStart(4, '0')).join(':')];
      };
      const [mine, theirs] = [await addresses(id), await addresses(other)];
      // The gateways are the host's own addresses in this network.
      for (const port of [8651, 8652]) {
        for (const host of ['10.65.0.1', 'fd65::1']) {
          stay('tcp', host, port);
          stay('udp', host, port);
        }
      }
      await until('all to be connected', async () => {
        const found = [await flows(...mine), await flows(...theirs)];
        return found.every(
          (lines) => new Set(lines.map((line) => line.split(/ +/).slice(0, 4).join())).size >= 4,
        );
      });
      const before = await flows(...theirs);
      if (how === 'kill') {
        await engine.http.ok('POST', `/containers/${id}/kill`);
      } else {
        await engine.http.ok('POST', '/networks/both/disconnect', { Container: id });
      }
      await expect.poll(() => flows(...mine)).toEqual([]);
      expect((await flows(...theirs)).map(identity)).toEqual(expect.arrayContaining(before.map(identity)));
    },
  );

  test('R54: of several that end together are forgotten', async () => {
    await engine.http.ok('POST', '/networks/create', {
      Name: 'both',
      IPAM: { Config: [{ Subnet: '10.65.0.0/24' }] },
    });
    const addresses = ['10.65.0.2', '10.65.0.3', '10.65.0.4'];
    const ids: string[] = [];
    for (const address of addresses) {
      ids.push(await engine.start(SERVER, { NetworkMode: 'both', Binds: PYTHON }));
      stay('tcp', address, 80);
    }
    await until('all to be connected', async () => {
      const found = await Promise.all(addresses.map((address) => flows(address)));
      return found.every((lines) => lines.some((line) => line.includes('ESTABLISHED')));
    });
    await Promise.all(ids.map((id) => engine.http.ok('POST', `/containers/${id}/kill`)));
    await expect.poll(() => flows(...addresses)).toEqual([]);
  });

  test.skipIf(onReference)('R54: of one that ended without a daemon are forgotten by the next', async () => {
    await engine.http.ok('POST', '/networks/create', {
      Name: 'both',
      IPAM: { Config: [{ Subnet: '10.65.0.0/24' }] },
    });
    const id = await engine.start(SERVER, { NetworkMode: 'both', Binds: PYTHON });
    stay('tcp', '10.65.0.2', 80);
    await until('to be connected', async () =>
      (await flows('10.65.0.2')).some((line) => line.includes('ESTABLISHED')),
    );
    const { State } = await engine.inspect(id);
    expect(State.Pid).toBeGreaterThan(1);
    await engine.daemon.kill9();
    process.kill(State.Pid, 'SIGKILL');
    expect((await flows('10.65.0.2')).length).toBeGreaterThan(0);
    await engine.daemon.up();
    await engine.untilState(id, 'exited');
    await expect.poll(() => flows('10.65.0.2')).toEqual([]);
  });
});

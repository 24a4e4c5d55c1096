import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { disarm, failingAt } from '../contract/network/overlay/arm-file.ts';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import type { NetworkKeys } from '../../api/types/swarm/overlay.ts';
import { encryptedPaths } from '../../daemon/networks/overlay/encryption/paths.ts';
import { NETWORK, TwoHosts, ip, overlay, peer, pings } from '../contract/network/overlay/two-hosts.ts';
import type { OverlayContainer } from '../contract/network/overlay/two-hosts.ts';
import { needs } from '../support/needs.ts';
import { PATIENCE } from '../support/patience.ts';

const ENDS = { a: { id: 'node1', addr: '192.0.2.1' }, b: { id: 'node2', addr: '192.0.2.2' } };
const TEST_MS = 300_000 * PATIENCE;

/** Prints a line for each IPv4 packet that comes to the interface `wire`: protocol; of ESP: SPI, number, vector. */
const WATCH = `
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
s.bind(('wire', 0))
print('ready', flush=True)
while True:
    p = s.recv(65535)
    if p[12:14] == b'\\x08\\x00' and p[23] == 50:
        print('esp', p[34:38].hex(), p[38:42].hex(), p[42:50].hex(), flush=True)
    elif p[12:14] == b'\\x08\\x00' and p[23] == 17 and p[36:38] == (4789).to_bytes(2, 'big'):
        print('vxlan', flush=True)
`;

function keysOf(node: string, ...ids: number[]): NetworkKeys {
  const ring = ids.map((id) => ({ id, secret: Buffer.alloc(32, id).toString('base64') }));
  return { node, ring, numbers: { node1: 65, node2: 66 } };
}

/** A kernel with ESP, as distributions have it: two network namespaces are two nodes. */
needs(
  'root',
  'guest',
  'ip',
  'busybox',
)('encrypted overlay networks', () => {
  let hosts: TwoHosts;
  let one: OverlayContainer;
  let other: OverlayContainer;

  beforeEach(() => {
    hosts = new TwoHosts();
    encrypt(1, 2);
    for (const name of ['a', 'b'] as const) {
      hosts[name].open(overlay(ENDS[name].addr, { encrypted: true }));
    }
    one = hosts.a.container(NETWORK, '10.20.0.2');
    other = hosts.b.container(NETWORK, '10.20.0.3');
    hosts.a.on((kernel) => kernel.overlays.mendPeers(NETWORK, [peer(ENDS.b.addr, other)]));
    hosts.b.on((kernel) => kernel.overlays.mendPeers(NETWORK, [peer(ENDS.a.addr, one)]));
  }, TEST_MS);

  afterEach(() => {
    hosts[Symbol.dispose]();
  });

  afterAll(disarm);

  function encryptOn(name: 'a' | 'b', ...ring: number[]): number {
    const [own, far] = name === 'a' ? [ENDS.a, ENDS.b] : [ENDS.b, ENDS.a];
    const local = ip(own.addr);
    return hosts[name].on((kernel) => {
      kernel.overlays.guard({
        local,
        port: 4789,
        networks: [{ vni: 4097, encrypted: true, hosts: [ip(far.addr)] }],
      });
      const paths = encryptedPaths(keysOf(own.id, ...ring), local, [far]);
      return kernel.overlays.encrypt({ local, port: 4789, paths });
    });
  }

  function encrypt(...ring: number[]): number[] {
    return [encryptOn('a', ...ring), encryptOn('b', ...ring)];
  }

  /** What the wire carries while something is done. */
  async function watched(work: () => void | Promise<void>): Promise<string[]> {
    const child = spawn('nsenter', [`--net=${hosts.b.netns}`, 'python3', '-c', WATCH]);
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    await once(child.stdout, 'data');
    await work();
    await new Promise((resolve) => void setTimeout(resolve, 500));
    child.kill();
    await once(child, 'close');
    return output.split('\n').filter((line) => line !== '' && line !== 'ready');
  }

  it(
    'containers reach each other, and the wire carries ESP alone, no two packets with one vector of one key',
    async () => {
      const lines = await watched(() => {
        expect([pings(one, '10.20.0.3'), pings(other, '10.20.0.2'), pings(one, '10.20.0.3')]).toEqual([
          true,
          true,
          true,
        ]);
      });
      const spis = lines.map((line) => line.split(' ')[1]);
      expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(new Set(['esp']));
      // 4 x 65 + 1 from the first node, 4 x 66 + 1 from the second.
      expect(new Set(spis)).toEqual(new Set(['00000105', '00000109']));
      expect(new Set(lines.map((line) => line.split(' ').slice(1).join())).size).toBe(lines.length);
      expect(pings(one, '10.20.0.3', '-s', '1388')).toBe(true);
      expect(hosts.a.fragments()).toBe(0);
    },
    TEST_MS,
  );

  it(
    'what comes in the open is not taken, and without keys nothing leaves',
    async () => {
      const { a } = hosts;
      a.run('ip', 'xfrm', 'state', 'flush');
      expect([await watched(() => void pings(one, '10.20.0.3')), pings(one, '10.20.0.3')]).toEqual([
        [],
        false,
      ]);
      // A host that does not know better: no policy, no guard, and the same network without encryption.
      a.on((kernel) => kernel.overlays.guard(undefined));
      a.open(overlay(ENDS.a.addr));
      a.on((kernel) => kernel.overlays.mendPeers(NETWORK, [peer(ENDS.b.addr, other)]));
      let answered = true;
      const lines = await watched(() => {
        answered = pings(one, '10.20.0.3');
      });
      expect([lines.includes('vxlan'), answered]).toEqual([true, false]);
    },
    TEST_MS,
  );

  it(
    'a rotation under traffic loses nothing, in whatever order the nodes hear of it',
    async () => {
      const argv = [
        `--net=${one.netns}`,
        'busybox',
        'ping',
        '-i',
        '0.1',
        '-c',
        '100',
        '-W',
        '5',
        '10.20.0.3',
      ];
      const child = spawn('nsenter', argv);
      let output = '';
      child.stdout.on('data', (data: Buffer) => (output += data.toString()));
      const closed = once(child, 'close');
      await once(child.stdout, 'data');
      for (const ring of [
        [1, 2, 3],
        [2, 3, 4],
        [3, 4, 5],
      ]) {
        for (const name of ring[0] === 2 ? (['b', 'a'] as const) : (['a', 'b'] as const)) {
          encryptOn(name, ...ring);
          await new Promise((resolve) => void setTimeout(resolve, 500));
        }
      }
      await closed;
      const received = Number(/(\d+) packets received/.exec(output)?.[1]);
      expect(received).toBeGreaterThanOrEqual(99);
      // To the other host with the primary key, from it with all three.
      expect(
        hosts.a
          .run('ip', 'xfrm', 'state')
          .match(/spi 0x\w+/g)
          ?.toSorted(),
      ).toEqual(['spi 0x00000104', 'spi 0x00000108', 'spi 0x00000109', 'spi 0x0000010b'].toSorted());
    },
    TEST_MS,
  );

  it(
    'entries that another program took away are counted and put back; what is right stays',
    () => {
      expect(encrypt(1, 2)).toEqual([0, 0]);
      hosts.a.run('ip', 'xfrm', 'state', 'flush');
      hosts.a.run('ip', 'xfrm', 'policy', 'flush');
      expect(encrypt(1, 2)).toEqual([4, 0]);
      expect(pings(one, '10.20.0.3')).toBe(true);
      hosts.a.restart();
      expect(encrypt(1, 2)).toEqual([0, 0]);
    },
    TEST_MS,
  );

  it.each(['overlay.encrypt.policy', 'overlay.encrypt.states', 'overlay.encrypt.remove'])(
    'at %s fails, and the next engine goes on from there',
    async (step) => {
      const { a } = hosts;
      if (step !== 'overlay.encrypt.remove') {
        a.run('ip', 'xfrm', 'policy', 'flush');
      }
      await expect(failingAt(step, () => encryptOn('a', 1, 2, 3))).rejects.toThrow(step);
      a.restart();
      encrypt(1, 2, 3);
      expect([encrypt(1, 2, 3), pings(one, '10.20.0.3')]).toEqual([[0, 0], true]);
    },
    TEST_MS,
  );

  it(
    'with the last network all of it goes',
    () => {
      hosts.a.on((kernel) => kernel.overlays.guard(undefined));
      const left = ['state', 'policy'].map((what) => hosts.a.run('ip', 'xfrm', what));
      expect([left, hosts.a.run('nft', 'list', 'tables').includes('_overlay')]).toEqual([['', ''], false]);
    },
    TEST_MS,
  );
});

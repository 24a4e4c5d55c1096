import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../../support/needs.ts';
import { INGRESS, MeshBed, published } from './mesh-bed.ts';
import { ip } from './two-hosts.ts';

const A = '10.30.0.11';
const B = '10.30.0.12';
const A6 = 'fd30::11';
const B6 = 'fd30::12';

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('published ports of a swarm', () => {
  let bed: MeshBed;

  beforeAll(async () => {
    bed = new MeshBed();
    bed.open();
    await bed.backend('a', 'a', 11);
    await bed.backend('b', 'b', 12);
  });
  afterAll(() => {
    bed[Symbol.dispose]();
  });

  /** To two tasks on two hosts, by tcp and udp; those of IPv6 listen at another port. */
  function publishBoth(): void {
    bed.mesh(published(8080, 80, [A, B]), published(8080, 80, [A, B], 'udp'), published(8086, 81, [A6, B6]));
  }

  describe('are answered by all tasks in turn', () => {
    beforeAll(publishBoth);

    test.each(['a', 'b'] as const)('from outside, at host %s', async (name) => {
      const found = await bed.answers(10, bed.client, MeshBed.address(name), 8080);
      const node = name === 'a' ? '10.30.0.2' : '10.30.0.3';
      expect(found).toEqual({ [`a ${node}`]: 5, [`b ${node}`]: 5 });
      const found6 = await bed.answers(4, bed.client, MeshBed.address(name, 6), 8086);
      const node6 = name === 'a' ? 'fd30::2' : 'fd30::3';
      expect(found6).toEqual({ [`a ${node6}`]: 2, [`b ${node6}`]: 2 });
    });

    test.each(['198.51.100.1', '192.0.2.1', '127.0.0.1', '127.0.0.9'])(
      'from the host itself, at %s',
      async (address) => {
        const found = await bed.answers(4, bed.host('a').netns, address, 8080);
        expect(found).toEqual({ 'a 10.30.0.2': 2, 'b 10.30.0.2': 2 });
      },
    );

    test.each([MeshBed.address('a', 6), '::1'])('from the host itself, at %s', async (address) => {
      const found = await bed.answers(4, bed.host('a').netns, address, 8086);
      expect(found).toEqual({ 'a fd30::2': 2, 'b fd30::2': 2 });
    });

    test('from a container on a bridge of the host', async () => {
      const container = await bed.neighbour(9);
      for (const address of [MeshBed.address('a'), '192.0.2.1', '172.30.0.1', '192.0.2.2']) {
        const found = await bed.answers(4, container, address, 8080);
        const node = address === '192.0.2.2' ? '10.30.0.3' : '10.30.0.2';
        expect(found, address).toEqual({ [`a ${node}`]: 2, [`b ${node}`]: 2 });
      }
    });

    test('by udp', async () => {
      const found = new Set<string>();
      for (let round = 0; round < 4; round += 1) {
        const chatter = await bed.tools.chatter(bed.client, MeshBed.address('a'), 8080);
        found.add(await chatter.say());
        found.add(await chatter.say());
      }
      const local = await bed.tools.chatter(bed.host('a').netns, '127.0.0.1', 8080);
      found.add(await local.say());
      expect(found).toEqual(new Set(['a 10.30.0.2', 'b 10.30.0.2']));
    });
  });

  test('of tasks that call a virtual address of the network too, while its bridge passes no firewall', async () => {
    const vips = ['10.30.0.77', 'fd30::77'];
    const balance = (backends: string[][], gone: string[]): void => {
      bed.on('a', (overlays) => {
        const changed = backends.map((each, index) => ({
          vip: ip(vips[index] ?? ''),
          backends: each.map(ip),
        }));
        overlays.balance(INGRESS, changed, gone.map(ip));
      });
    };
    balance([[B], [B6]], []);
    // A kernel without br_netfilter has no such file.
    const look = 'cat /proc/sys/net/bridge/bridge-nf-call-iptables 2>/dev/null || echo 0';
    expect(bed.host('a').inside(INGRESS, 'sh', '-c', look).trim()).toBe('0');
    const found = await bed.answers(4, bed.netnsOf(A), vips[0] ?? '', 80);
    expect(found).toEqual({ 'b 10.30.0.2': 4 });
    const found6 = await bed.answers(4, bed.netnsOf(A), vips[1] ?? '', 81);
    expect(found6).toEqual({ 'b fd30::2': 4 });
    balance([], vips);
  });

  test('refuse at once without tasks, and serve a udp client that went on once there is one', async () => {
    bed.mesh(published(8080, 80, []), published(8080, 80, [], 'udp'), published(8086, 81, []));
    const began = performance.now();
    for (const address of [MeshBed.address('a'), '192.0.2.1']) {
      expect(await bed.tools.ask(bed.client, MeshBed.address('b'), 8080)).toBe('ECONNREFUSED');
      expect(await bed.tools.ask(bed.host('a').netns, address, 8080)).toBe('ECONNREFUSED');
    }
    expect(await bed.tools.ask(bed.client, MeshBed.address('a', 6), 8086)).toBe('ECONNREFUSED');
    const chatter = await bed.tools.chatter(bed.client, MeshBed.address('a'), 8080);
    for (let round = 0; round < 10; round += 1) {
      expect(await chatter.say()).toBe('ECONNREFUSED');
    }
    expect(performance.now() - began).toBeLessThan(3_000);
    publishBoth();
    expect(await chatter.say()).toMatch(/^[ab] 10\.30\.0\.2$/);
  });

  describe('a task that drains', () => {
    test('keeps its connections, gets no new ones, and loses them once it is forgotten', async () => {
      bed.mesh(published(8080, 80, [A, B]));
      const kept = [1, 2].map(() => bed.tools.connect(bed.client, MeshBed.address('a'), 8080));
      const first = [await kept[0]?.next(), await kept[1]?.next()];
      expect(new Set(first)).toEqual(new Set(['a 10.30.0.2', 'b 10.30.0.2']));
      const gone = kept[first.indexOf('b 10.30.0.2')];
      bed.mesh(published(8080, 80, [A]));
      expect(await bed.answers(6, bed.client, MeshBed.address('a'), 8080)).toEqual({ 'a 10.30.0.2': 6 });
      expect(await gone?.say('still')).toBe('b:still');
      bed.on('a', (overlays) => {
        overlays.forgetBackend(INGRESS, ip(B));
      });
      await expect.poll(() => gone?.say('on')).toBe('ECONNRESET');
      expect(await kept[first.indexOf('a 10.30.0.2')]?.say('on')).toBe('a:on');
    });

    test('loses udp clients that go on sending to those who stay', async () => {
      bed.mesh(published(8080, 80, [A], 'udp'));
      const chatter = await bed.tools.chatter(bed.client, MeshBed.address('a'), 8080);
      expect(await chatter.say()).toBe('a 10.30.0.2');
      bed.mesh(published(8080, 80, [B], 'udp'));
      await expect.poll(() => chatter.say()).toBe('b 10.30.0.2');
    });
  });

  test('a port that is published no more is the host’s again; a udp client that goes on gets there', async () => {
    bed.mesh(published(8090, 80, [A]), published(8090, 80, [A], 'udp'));
    const chatter = await bed.tools.chatter(bed.client, MeshBed.address('a'), 8090);
    expect(await chatter.say()).toBe('a 10.30.0.2');
    await bed.tools.serve(bed.host('a').netns, 'host', 8090);
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8090)).toBe('a 10.30.0.2');
    bed.mesh();
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8090)).toMatch(/^host /);
    await expect.poll(() => chatter.say()).toMatch(/^host /);
  });

  test('carry what fills packets, in both directions, and datagrams in parts', async () => {
    bed.mesh(published(8080, 80, [B]), published(8080, 80, [B], 'udp'));
    for (const from of [bed.client, bed.host('a').netns]) {
      const { socket } = bed.tools.connect(from, MeshBed.address('a'), 8080);
      const sent = 'x'.repeat(500_000);
      let back = 0;
      socket.on('data', (data: Buffer) => (back += String(data).replaceAll(/[^x]/g, '').length));
      socket.write(sent);
      await expect.poll(() => back).toBe(sent.length);
      socket.destroy();
      const chatter = await bed.tools.chatter(from, MeshBed.address('a'), 8080);
      // At first the sender is told that the way takes less.
      await expect.poll(() => chatter.say('x'.repeat(1_472))).toBe('b 10.30.0.2');
      expect(await chatter.say('x'.repeat(8_000))).toBe('b 10.30.0.2');
    }
  });

  test('are answered where packets are taken only from where answers would go', async () => {
    const inside = bed.host('a').overlayNamespaces.path(INGRESS);
    bed.mesh(published(8080, 80, [A, B]));
    const strict = (value: number): void => {
      for (const link of ['all', 'lan', 'boaingress']) {
        bed.host('a').run('sysctl', '-qw', `net.ipv4.conf.${link}.rp_filter=${value}`);
      }
      for (const link of ['all', 'br0', 'host0']) {
        bed.tools.in(inside, 'sysctl', '-qw', `net.ipv4.conf.${link}.rp_filter=${value}`);
      }
    };
    strict(1);
    try {
      for (const [from, address] of [
        [bed.client, MeshBed.address('a')],
        [bed.host('a').netns, '192.0.2.1'],
        [bed.host('a').netns, '127.0.0.1'],
      ] as const) {
        const found = await bed.answers(2, from, address, 8080);
        expect(found, address).toEqual({ 'a 10.30.0.2': 1, 'b 10.30.0.2': 1 });
      }
    } finally {
      strict(0);
    }
  });

  test('a published port of a container is the container’s', async () => {
    bed.mesh(published(8091, 80, [A]));
    await bed.neighbour(10, 'plain');
    const port = {
      protocol: 'tcp' as const,
      hostAddress: 0,
      hostPort: 8091,
      address: ip('172.30.0.10'),
      containerPort: 80,
    };
    bed.host('a').on((kernel) => {
      kernel.publish([port]);
    });
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8091)).toMatch(/^plain /);
    bed.host('a').on((kernel) => {
      kernel.unpublish([port]);
    });
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8091)).toBe('a 10.30.0.2');
  });

  test('sctp is published too', () => {
    bed.mesh(published(8092, 80, [A, B], 'sctp'));
    expect(bed.host('a').run('nft', 'list', 'map', 'ip', 'tboa', 'mesh')).toMatch(
      /sctp \. 8092 : 169\.254\.64\.2/,
    );
    const inside = bed.host('a').inside(INGRESS, 'nft', 'list', 'table', 'ip', 'berth_mesh');
    expect(inside).toMatch(/sctp \. 8092 : goto/);
    expect(inside).toContain('10.30.0.12 . 80');
  });

  describe('open nothing else', () => {
    test('for a neighbour who routes into them', async () => {
      publishBoth();
      for (const subnet of ['169.254.64.0/30', '10.30.0.0/16']) {
        bed.tools.in(bed.client, 'ip', 'route', 'replace', subnet, 'via', MeshBed.address('a'));
      }
      for (const [address, port] of [
        ['169.254.64.2', 8080],
        ['10.30.0.11', 80],
        ['10.30.0.2', 80],
        ['169.254.64.1', 8093],
      ] as const) {
        const connection = bed.tools.connect(bed.client, address, port);
        const answer = await Promise.race([connection.next(), pause(300)]);
        // The host's own end is an address of the host like any other.
        expect(answer, address).toMatch(
          address === '169.254.64.1' ? /^ECONNREFUSED$/ : /^(?:silence|ENETUNREACH)$/,
        );
        connection.socket.destroy();
      }
    });

    test('for tasks: neither the host nor what is behind it', async () => {
      await bed.tools.serve(bed.host('a').netns, 'host', 8094);
      const task = bed.netnsOf(A);
      bed.tools.in(task, 'ip', 'route', 'replace', 'default', 'via', '10.30.0.1');
      for (const address of ['169.254.64.1', MeshBed.address('a'), '198.51.100.9']) {
        for (const from of [task, bed.host('a').overlayNamespaces.path(INGRESS)]) {
          const connection = bed.tools.connect(from, address, 8094);
          const answer = await Promise.race([connection.next(), pause(300)]);
          expect(answer, `${address} from ${from}`).toBe('silence');
          connection.socket.destroy();
        }
      }
    });

    test('of what the administrator filters', async () => {
      const { a } = bed.hosts;
      a.run(
        'nft',
        'add',
        'rule',
        'ip',
        'tboa',
        'user',
        'iifname',
        'lan',
        'meta',
        'l4proto',
        'tcp',
        'ct',
        'original',
        'proto-dst',
        '8080',
        'reject',
      );
      try {
        expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('ECONNREFUSED');
        expect(await bed.tools.ask(a.netns, MeshBed.address('a'), 8080)).toMatch(/^[ab] /);
      } finally {
        a.run('nft', 'flush', 'chain', 'ip', 'tboa', 'user');
      }
      expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toMatch(/^[ab] /);
    });
  });
});

/** Of a packet that is dropped. */
function pause(ms: number): Promise<string> {
  return new Promise((resolve) => void setTimeout(() => resolve('silence'), ms));
}

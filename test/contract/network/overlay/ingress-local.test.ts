import { disarm, failingAt } from './arm-file.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { MeshPort } from '../../../../runtime/network/overlay/settings.ts';
import { needs } from '../../../support/needs.ts';
import { INGRESS, MeshBed, published } from './mesh-bed.ts';
import { ip } from './two-hosts.ts';

/** Tasks of host a, of which the first has its default routes through a bridge of the host, and of host b. */
const OWN = '10.30.0.11';
const SECOND = '10.30.0.13';
const AWAY = '10.30.0.12';
const OWN6 = 'fd30::11';
const AWAY6 = 'fd30::12';

/** The client's addresses on its links to the hosts. */
const CLIENT = '198.51.100.9';
const CLIENT6 = '2001:db8:1::9';

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('published ports whose service prefers tasks of the host', () => {
  let bed: MeshBed;

  beforeAll(async () => {
    bed = new MeshBed();
    bed.open();
    await bed.backend('a', 'own', 11);
    await bed.outlet(OWN, 11);
    await bed.backend('a', 'second', 13);
    await bed.outlet(SECOND, 13);
    await bed.backend('b', 'away', 12);
  });
  afterAll(() => {
    bed[Symbol.dispose]();
    disarm();
  });

  /** On host a, where `local` are, and on host b, which has none of them. */
  function publish(local: readonly string[], all: readonly string[] = [OWN, AWAY]): void {
    const local6 = local.includes(OWN) ? [OWN6] : [];
    const ports = (own: readonly string[], own6: readonly string[]): MeshPort[] => [
      published(8080, 80, all, 'tcp', own),
      published(8080, 80, all, 'udp', own),
      published(8086, 81, [OWN6, AWAY6], 'tcp', own6),
      published(8086, 81, [OWN6, AWAY6], 'udp', own6),
    ];
    bed.on('a', (overlays) => {
      overlays.mesh(ports(local, local6));
    });
    bed.on('b', (overlays) => {
      overlays.mesh(ports([], []));
    });
  }
  const asked = (count = 4, port = 8080, family: 4 | 6 = 4): Promise<Record<string, number>> =>
    bed.answers(count, bed.client, MeshBed.address('a', family), port);
  const said = async (port = 8080, family: 4 | 6 = 4): Promise<string> =>
    await (await bed.tools.chatter(bed.client, MeshBed.address('a', family), port)).say();

  /** Whether the first task takes packets only from where its answers would go. */
  function strict(value: 0 | 1): void {
    for (const link of ['all', 'eth0', 'eth1']) {
      bed.tools.in(bed.netnsOf(OWN), 'sysctl', '-qw', `net.ipv4.conf.${link}.rp_filter=${value}`);
    }
  }

  beforeEach(() => {
    publish([OWN]);
  });

  test('are answered by these, which see the client: TCP, UDP and IPv6', async () => {
    expect(await asked()).toEqual({ [`own ${CLIENT}`]: 4 });
    expect(await said()).toBe(`own ${CLIENT}`);
    expect(await asked(4, 8086, 6)).toEqual({ [`own ${CLIENT6}`]: 4 });
    expect(await said(8086, 6)).toBe(`own ${CLIENT6}`);
  });

  test('are answered by several of them in turn', async () => {
    publish([OWN, SECOND], [OWN, SECOND, AWAY]);
    expect(await asked()).toEqual({ [`own ${CLIENT}`]: 2, [`second ${CLIENT}`]: 2 });
  });

  test('are answered at a host without such tasks by all, with the host’s address', async () => {
    const found = await bed.answers(4, bed.client, MeshBed.address('b'), 8080);
    expect(found).toEqual({ 'own 10.30.0.3': 2, 'away 10.30.0.3': 2 });
  });

  test.each(['198.51.100.1', '192.0.2.1', '127.0.0.1'])(
    'are answered by these to the host itself, at %s',
    async (address) => {
      const found = await bed.answers(2, bed.host('a').netns, address, 8080);
      expect(found).toEqual({ 'own 169.254.64.1': 2 });
      const local = await bed.tools.chatter(bed.host('a').netns, address, 8080);
      expect(await local.say()).toBe('own 169.254.64.1');
    },
  );

  test('are answered by these to a container on a bridge of the host, also that of their own way out', async () => {
    const container = await bed.neighbour(9);
    expect(Object.keys(await bed.answers(2, container, MeshBed.address('a'), 8080))).toEqual([
      expect.stringMatching(/^own /),
    ]);
    const found = await bed.answers(2, bed.netnsOf(SECOND), MeshBed.address('a'), 8080);
    expect(Object.keys(found)).toEqual([expect.stringMatching(/^own /)]);
    const chatter = await bed.tools.chatter(bed.netnsOf(SECOND), MeshBed.address('a'), 8080);
    expect(await chatter.say()).toMatch(/^own /);
  });

  test('leave the task its own way out, and its calls to others', async () => {
    const server = bed.hosts.b.netns;
    await bed.tools.serve(server, 'world', 9000);
    bed.host('b').run('ip', 'route', 'replace', '172.31.0.0/16', 'via', '192.0.2.1');
    expect(await bed.tools.ask(bed.netnsOf(OWN), '192.0.2.2', 9000)).toMatch(/^world /);
    const chatter = await bed.tools.chatter(bed.netnsOf(OWN), '192.0.2.2', 9000);
    expect(await chatter.say()).toMatch(/^world /);
  });

  describe('when the last of them drains', () => {
    test('its connections live on until it is forgotten, and new calls take the ordinary way', async () => {
      const kept = bed.tools.connect(bed.client, MeshBed.address('a'), 8080);
      expect(await kept.next()).toBe(`own ${CLIENT}`);
      publish([], [AWAY]);
      expect(await asked()).toEqual({ 'away 10.30.0.2': 4 });
      expect(await kept.say('still')).toBe('own:still');
      bed.on('a', (overlays) => {
        overlays.forgetBackend(INGRESS, ip(OWN));
      });
      await expect.poll(() => kept.say('on')).toBe('ECONNRESET');
    });

    test('UDP clients that go on sending go elsewhere, and come back with the next one', async () => {
      const chatter = await bed.tools.chatter(bed.client, MeshBed.address('a'), 8080);
      expect(await chatter.say()).toBe(`own ${CLIENT}`);
      publish([], [AWAY]);
      await expect.poll(() => chatter.say()).toBe('away 10.30.0.2');
      publish([OWN]);
      await expect.poll(() => chatter.say()).toBe(`own ${CLIENT}`);
    });
  });

  test('go the ordinary way once the service does not prefer them any more', async () => {
    const kept = bed.tools.connect(bed.client, MeshBed.address('a'), 8080);
    await kept.next();
    publish([]);
    expect(await asked()).toEqual({ 'own 10.30.0.2': 2, 'away 10.30.0.2': 2 });
    expect(await kept.say('still')).toBe('own:still');
  });

  describe('are as they were', () => {
    test('after a restart of the daemon, before it is told of ports and after', async () => {
      const kept = bed.tools.connect(bed.client, MeshBed.address('a'), 8080);
      await kept.next();
      bed.restart('a');
      expect(await asked()).toEqual({ [`own ${CLIENT}`]: 4 });
      bed.on('a', (overlays) => {
        overlays.openIngress(bed.settings('a'));
      });
      expect(await asked()).toEqual({ [`own ${CLIENT}`]: 4 });
      publish([OWN, SECOND], [OWN, SECOND, AWAY]);
      expect(await asked()).toEqual({ [`own ${CLIENT}`]: 2, [`second ${CLIENT}`]: 2 });
      expect(await said()).toContain(CLIENT);
      expect(await kept.say('still')).toBe('own:still');
    });

    test('after rules were flushed, in the network’s namespace and on the host', async () => {
      bed.host('a').inside(INGRESS, 'nft', 'flush', 'ruleset');
      bed.on('a', (overlays) => {
        overlays.openIngress(bed.settings('a'));
      });
      expect(await asked()).toEqual({ [`own ${CLIENT}`]: 4 });
      bed.host('a').run('nft', 'flush', 'ruleset');
      await expect.poll(() => bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe(`own ${CLIENT}`);
    });
  });

  test('are answered where packets are taken only from where answers would go', async () => {
    strict(1);
    expect(await asked()).toEqual({ [`own ${CLIENT}`]: 4 });
    expect(await said()).toBe(`own ${CLIENT}`);
    strict(0);
  });

  test('go the ordinary way while a task’s answers cannot be led back, and are tried again', async () => {
    publish([], [AWAY]);
    await bed.backend('a', 'third', 14);
    await bed.outlet('10.30.0.14', 14);
    const third = '10.30.0.14';
    await failingAt('overlay.local.routes', () => {
      publish([third], [third, AWAY]);
    });
    expect(await asked()).toEqual({ 'third 10.30.0.2': 2, 'away 10.30.0.2': 2 });
    publish([third], [third, AWAY]);
    expect(await asked()).toEqual({ [`third ${CLIENT}`]: 4 });
  });
});

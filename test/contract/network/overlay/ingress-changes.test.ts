import type { MeshPort } from '../../../../runtime/network/overlay/settings.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { needs } from '../../../support/needs.ts';
import { processorTime } from '../../../support/processor-time.ts';
import { INGRESS, MeshBed, published } from './mesh-bed.ts';

const A = '10.30.0.11';
const B = '10.30.0.12';
const A6 = 'fd30::11';
const B6 = 'fd30::12';

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('published ports of a swarm on a host where things change', () => {
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

  /** To two tasks on two hosts; those of IPv6 listen at another port. */
  function publishBoth(): void {
    bed.mesh(published(8080, 80, [A, B]), published(8086, 81, [A6, B6]));
  }

  describe('that another program deletes', () => {
    test('on the host, are back at once', async () => {
      publishBoth();
      for (const damage of [
        ['nft', 'flush', 'ruleset'],
        ['nft', 'flush', 'map', 'ip', 'tboa', 'mesh'],
        ['nft', 'flush', 'set', 'ip', 'tboa', 'ways'],
      ]) {
        bed.host('a').run(...damage);
        await expect
          .poll(() => bed.tools.ask(bed.client, MeshBed.address('a'), 8080), { message: damage.join(' ') })
          .toMatch(/^[ab] 10\.30\.0\.2$/);
        await expect
          .poll(() => bed.host('a').run('nft', 'list', 'set', 'ip', 'tboa', 'ways'))
          .toContain('"boaingress"');
      }
      expect(await bed.tools.ask(bed.client, MeshBed.address('a', 6), 8086)).toMatch(/^[ab] /);
    });

    test('in the network’s namespace, and links and addresses, are back when it is opened again', async () => {
      const open = (): void => {
        bed.on('a', (overlays) => {
          overlays.openIngress(bed.settings('a'));
        });
      };
      const kept = bed.tools.connect(bed.client, MeshBed.address('a'), 8080);
      const first = (await kept.next())[0];
      const before = bed.host('a').run('ip', '-br', 'address');
      open();
      expect(bed.host('a').run('ip', '-br', 'address')).toBe(before);
      const inside = bed.host('a').overlayNamespaces.path(INGRESS);
      for (const damage of [
        ['nsenter', `--net=${inside}`, 'nft', 'flush', 'ruleset'],
        ['nsenter', `--net=${inside}`, 'ip', 'link', 'set', 'host0', 'down'],
        ['nsenter', `--net=${inside}`, 'ip', 'address', 'flush', 'dev', 'host0'],
        ['nsenter', `--net=${inside}`, 'ip', 'route', 'delete', 'default'],
        ['nsenter', `--net=${inside}`, 'ip', 'address', 'delete', '10.30.0.2/32', 'dev', 'br0'],
        ['ip', 'address', 'add', '169.254.99.1/30', 'dev', 'boaingress'],
        ['ip', 'address', 'flush', 'dev', 'boaingress'],
        ['ip', 'link', 'set', 'boaingress', 'down'],
        ['ip', 'link', 'set', 'boaingress', 'mtu', '1300'],
      ]) {
        bed.host('a').run(...damage);
        open();
        expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080), damage.join(' ')).toMatch(
          /^[ab] 10\.30\.0\.2$/,
        );
        expect(await bed.tools.ask(bed.client, MeshBed.address('a', 6), 8086), damage.join(' ')).toMatch(
          /^[ab] /,
        );
        expect(bed.host('a').run('ip', '-br', '-4', 'address', 'show', 'boaingress')).toContain(
          '169.254.64.1/30',
        );
        expect(bed.host('a').run('ip', '-br', 'address')).not.toContain('169.254.99.1');
      }
      expect(await kept.say('still')).toBe(`${first}:still`);
    });
  });

  test('are answered while the daemon restarts, and until it is told of others', async () => {
    publishBoth();
    const ask = (): Promise<string> => bed.tools.ask(bed.client, MeshBed.address('a'), 8080);
    const kept = bed.tools.connect(bed.client, MeshBed.address('a'), 8080);
    const first = (await kept.next())[0];
    bed.restart('a');
    expect(await ask()).toMatch(/^[ab] 10\.30\.0\.2$/);
    bed.on('a', (overlays) => {
      overlays.openIngress(bed.settings('a'));
    });
    expect(await ask()).toMatch(/^[ab] 10\.30\.0\.2$/);
    expect(await bed.tools.ask(bed.client, MeshBed.address('a', 6), 8086)).toMatch(/^[ab] /);
    bed.on('a', (overlays) => {
      overlays.mesh([published(8081, 80, [A])]);
    });
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8081)).toBe('a 10.30.0.2');
    expect(await ask()).toBe('ECONNREFUSED');
    expect(await kept.say('still')).toBe(`${first}:still`);
  });

  test('go through another subnet where the host has this one', async () => {
    const { a } = bed.hosts;
    a.run('ip', 'address', 'add', '169.254.64.1/28', 'dev', 'lan');
    bed.on('a', (overlays) => {
      overlays.openIngress(bed.settings('a'));
      overlays.mesh([published(8080, 80, [A])]);
    });
    expect(a.run('ip', '-br', '-4', 'address', 'show', 'boaingress')).toContain('169.254.64.17/30');
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('a 10.30.0.2');
    a.run('ip', 'route', 'add', '169.254.0.0/16', 'dev', 'lan');
    bed.on('a', (overlays) => {
      overlays.openIngress(bed.settings('a'));
    });
    expect(a.run('ip', '-br', '-4', 'address', 'show', 'boaingress')).toContain('198.19.64.1/30');
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('a 10.30.0.2');
  });

  test('of a network without IPv6 leave the host without it there', async () => {
    const nodeAddresses = bed.settings('a').nodeAddresses.slice(0, 1);
    bed.on('a', (overlays) => {
      overlays.openIngress(bed.settings('a', { nodeAddresses }));
      overlays.mesh([published(8080, 80, [A])]);
    });
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('a 10.30.0.2');
    expect(bed.host('a').run('ip', '-br', '-6', 'address', 'show', 'boaingress')).toBe('');
  });

  test('of another engine on the host go its own way', async () => {
    using other = bed.secondEngine('a');
    bed.on('a', (overlays) => {
      overlays.mesh([published(8080, 80, [A])]);
    });
    const settings = bed.settings('a', { networkId: 'in1111111111111111111111g', vni: 5000, port: 4790 });
    other.on((kernel) => {
      kernel.prepare([], []);
      kernel.overlays.openIngress(settings);
      kernel.overlays.mesh([published(8095, 80, [])]);
    });
    const links = bed.host('a').run('ip', '-br', '-4', 'address');
    const subnets = [...links.matchAll(/ingress\S+ .*?(\S+\/30)/g)].map(([, subnet]) => subnet);
    expect(new Set(subnets).size).toBe(2);
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('a 10.30.0.2');
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8095)).toBe('ECONNREFUSED');
    await other.on((kernel) => kernel.overlays.closeIngress());
    expect(
      bed
        .host('a')
        .run('ip', '-br', 'link')
        .match(/\S+ingress@/g),
    ).toEqual(['boaingress@']);
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('a 10.30.0.2');
  });

  test('go into the network that took the place of another, and of one whose namespace is gone', async () => {
    const { a } = bed.hosts;
    const mesh = (): void => {
      bed.on('a', (overlays) => {
        overlays.openIngress(bed.settings('a'));
        overlays.mesh([published(8080, 80, [])]);
      });
    };
    mesh();
    // Another program does that.
    const vxlan = a.inside(INGRESS, 'ip', '-o', 'link', 'show', 'type', 'vxlan').split(/[:@ ]+/)[1] ?? '';
    a.inside(INGRESS, 'ip', 'link', 'delete', vxlan);
    a.overlayNamespaces.remove(INGRESS);
    mesh();
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('ECONNREFUSED');
    // An engine that died between the two, and does not know any more that this one was the ingress network.
    bed.restart('a');
    await bed.on('a', (overlays) => overlays.closeOverlay(INGRESS));
    const networkId = 'in2222222222222222222222g';
    bed.on('a', (overlays) => {
      overlays.openIngress(bed.settings('a', { networkId }));
      overlays.mesh([published(8096, 80, [])]);
    });
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8096)).toBe('ECONNREFUSED');
    expect(bed.host('a').run('nft', 'list', 'map', 'ip', 'tboa', 'mesh')).toContain('tcp . 8096');
    expect(bed.host('a').run('nft', 'list', 'map', 'ip', 'tboa', 'mesh')).not.toContain('tcp . 8080');
    await bed.on('a', (overlays) => overlays.closeIngress());
    expect(bed.left('a')).toBe('');
    bed.open();
    // The task of this host went with the network.
    bed.mesh(published(8080, 80, [B]));
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('b 10.30.0.2');
  });

  test('a change costs little beside a thousand ports of five tasks', async () => {
    const all = Array.from({ length: 1_000 }, (_, index) =>
      published(
        20_000 + index,
        80,
        Array.from(
          { length: 5 },
          (__, task) => `10.30.${100 + Math.floor(index / 250)}.${1 + ((5 * index + task) % 250)}`,
        ),
      ),
    );
    const mesh = (...ports: MeshPort[]): number =>
      bed.on('a', (overlays) => timed(() => overlays.mesh(ports)));
    const load = mesh(...all);
    const again = mesh(...all);
    const backends = Array.from({ length: 40 }, (_, round) =>
      mesh(...all, published(8080, 80, round % 2 === 0 ? [B] : [A, B])),
    );
    const ports = Array.from({ length: 40 }, (_, round) =>
      mesh(...all, ...(round % 2 === 0 ? [] : [published(8080, 80, [B])])),
    );
    const mend = timed(() =>
      bed.on('a', (overlays) => {
        overlays.openIngress(bed.settings('a'));
      }),
    );
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('b 10.30.0.2');
    process.stdout.write(
      `1,000 published ports of 5 tasks: load ${load.toFixed(0)} ms, the same again ${again.toFixed(1)} ms, ` +
        `a change of tasks ${median(backends)} ms, of a port ${median(ports)} ms, look ${mend.toFixed(0)} ms\n`,
    );
    expect(Number(median(backends))).toBeLessThan(200);
    bed.mesh();
  });

  test('leave nothing when the network is closed, and are there again when it is opened', async () => {
    publishBoth();
    for (const isNext of [false, true]) {
      if (isNext) {
        bed.restart('a');
      }
      await bed.on('a', (overlays) => overlays.closeIngress());
      await bed.on('a', (overlays) => overlays.closeIngress());
      expect(bed.left('a')).toBe('');
      bed.open();
      bed.mesh(published(8080, 80, [B]));
      expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('b 10.30.0.2');
    }
  });
});

/** Milliseconds that it takes of the processor. */
function timed(work: () => void): number {
  const tookMs = processorTime();
  work();
  return tookMs();
}

function median(rounds: number[]): string {
  return (rounds.toSorted((one, other) => one - other)[Math.floor(rounds.length / 2)] ?? 0).toFixed(2);
}

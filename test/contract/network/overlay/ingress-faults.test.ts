import { disarm, failingAt } from './arm-file.ts';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { needs } from '../../../support/needs.ts';
import { INGRESS, MeshBed, published } from './mesh-bed.ts';

const OPEN_STEPS = [
  'overlay.open.vxlan',
  'overlay.ingress.rules',
  'overlay.ingress.link',
  'overlay.ingress.address',
  'overlay.ingress.own',
  'overlay.ingress.firewall',
];

needs(
  'root',
  'netns',
  'nft',
  'ip',
)('an ingress network that is interrupted', () => {
  let bed: MeshBed;

  beforeEach(() => {
    bed = new MeshBed();
  });

  afterEach(() => {
    bed[Symbol.dispose]();
  });

  afterAll(disarm);

  function open(): void {
    bed.on('a', (overlays) => {
      overlays.openIngress(bed.settings('a'));
    });
  }

  it.each(OPEN_STEPS)('at %s leaves nothing, and the next attempt succeeds at once', async (step) => {
    await expect(failingAt(step, open)).rejects.toThrow(step);
    expect(bed.left('a')).toBe('');
    open();
    bed.on('a', (overlays) => {
      overlays.mesh([published(8080, 80, [])]);
    });
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('ECONNREFUSED');
  });

  it.each(OPEN_STEPS.slice(1))('at %s while it is open goes on as it was', async (step) => {
    bed.open();
    await bed.backend('a', 'a', 11);
    bed.mesh(published(8080, 80, ['10.30.0.11']));
    // Each step has something to do.
    bed.host('a').run('ip', 'link', 'delete', 'boaingress');
    await expect(failingAt(step, open)).rejects.toThrow(step);
    open();
    expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('a 10.30.0.2');
  });

  it.each(['overlay.mesh.inside', 'overlay.mesh.host'])(
    'at %s is as it should be after the next attempt, of the next engine too',
    async (step) => {
      bed.open();
      await bed.backend('a', 'a', 11);
      const ports = [published(8080, 80, ['10.30.0.11']), published(8081, 80, ['10.30.0.11'], 'udp')];
      const mesh = (): void => {
        bed.on('a', (overlays) => {
          overlays.mesh(ports);
        });
      };
      await expect(failingAt(step, mesh)).rejects.toThrow(step);
      mesh();
      expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('a 10.30.0.2');
      ports.splice(0, 2, published(8082, 80, ['10.30.0.11']));
      await expect(failingAt(step, mesh)).rejects.toThrow(step);
      bed.restart('a');
      open();
      mesh();
      expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8082)).toBe('a 10.30.0.2');
      expect(await bed.tools.ask(bed.client, MeshBed.address('a'), 8080)).toBe('ECONNREFUSED');
    },
  );

  it.each([
    'overlay.ingress.unpublish',
    'overlay.ingress.close',
    'overlay.close.netns',
    'overlay.ingress.unlink',
  ])('at %s can be closed again, by the next engine as well', async (step) => {
    for (const isNext of [false, true]) {
      open();
      bed.on('a', (overlays) => {
        overlays.mesh([published(8080, 80, [])]);
      });
      const close = (): Promise<void> => bed.on('a', (overlays) => overlays.closeIngress());
      await expect(failingAt(step, close)).rejects.toThrow(step);
      if (isNext) {
        bed.host('a').restart();
        bed.host('a').on((kernel) => {
          kernel.prepare([], []);
        });
      }
      await close();
      await close();
      // As the domain does with what nobody knows.
      for (const id of bed.on('a', (overlays) => overlays.overlays())) {
        expect(id).toBe(INGRESS);
        await bed.on('a', (overlays) => overlays.closeOverlay(id));
      }
      expect(bed.left('a')).toBe('');
    }
  });

  it('by a call for it while it is being closed says so', async () => {
    open();
    const closed = bed.on('a', (overlays) => overlays.closeIngress());
    expect(open).toThrow('is being removed from this host');
    await closed;
    expect(() => {
      bed.on('a', (overlays) => {
        overlays.mesh([]);
      });
    }).toThrow('there is no ingress network on this host');
    open();
  });
});

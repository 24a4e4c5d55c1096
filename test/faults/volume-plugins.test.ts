import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeEngine, onReference } from '../support/engine/engine.ts';
import { differences } from '../support/engine/oracle.ts';
import { VolumePlugin } from '../support/storage/volume-plugin.ts';

const DRIVER = 'berthtest';

/** What a container's life with a volume of a plugin passes. */
const POINTS = [
  'volume.plugin.create',
  'volume.plugin.created',
  'volume.create.row',
  'volume.plugin.mount',
  'volume.plugin.mounted',
  'volume.fill.folder',
  'volume.fill.copied',
  'volume.fill.moved',
  'volume.fill.done',
  'containers.start.commit',
  'containers.start.begun',
  'volume.plugin.unmount',
  'volume.plugin.unmounted',
  'volume.plugin.remove',
  'volume.plugin.removed',
  'database.volumehold.set',
  'database.volumehold.remove',
];

describeEngine(
  'a daemon that dies or fails while it works with a volume plugin',
  (engine) => {
    let plugin: VolumePlugin;
    beforeAll(async () => {
      const { root } = engine.daemon.paths;
      plugin = await new VolumePlugin({
        socket: `${root}/plugins/${DRIVER}.sock`,
        folder: `${root}/of-the-plugin`,
      }).up();
    });
    afterAll(() => plugin[Symbol.asyncDispose]());

    const ask = async (method: string, path: string, accepted: number[], body?: object): Promise<void> => {
      const answer = await engine.http.request(method, path, body === undefined ? {} : { body });
      expect(accepted, answer.text).toContain(answer.status);
    };

    /** From nothing to nothing; goes on where an earlier attempt got. */
    const life = async (): Promise<void> => {
      await ask('POST', '/containers/create?name=victim', [201, 409], {
        Image: 'busybox:latest',
        Cmd: ['sleep', '1000'],
        HostConfig: { NetworkMode: 'none', Binds: ['data:/etc'], VolumeDriver: DRIVER },
      });
      await ask('POST', '/containers/victim/start', [204, 304]);
      expect(plugin.files('data')).toEqual(expect.arrayContaining(['group', 'passwd']));
      expect(plugin.files('data').filter((name) => name.startsWith('.'))).toEqual([]);
      await ask('DELETE', '/containers/victim?force=1', [204]);
      await expect.poll(() => plugin.mounts('data')).toEqual([]);
      await ask('DELETE', '/volumes/data', [204]);
    };

    test.skipIf(onReference).each(POINTS)(
      'R1: killed at %s, it leaves nothing mounted and can go on',
      async (point) => {
        engine.daemon.arm(`${point}=sigkill@1`);
        // A daemon that dies answers nothing; what counts is what it leaves.
        await life().catch(() => undefined);
        await engine.daemon.ended();
        engine.daemon.arm('');
        await engine.daemon.up();
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
        if (/remove|unmount/.test(point)) {
          await engine.removeAll();
          await engine.http.ok('DELETE', '/volumes/data?force=1');
        }
        await life();
        expect([...plugin.volumes.keys()]).toEqual([]);
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
      },
    );

    /** The daemon is killed there while it makes a volume. */
    const dieAt = async (point: string, path: string): Promise<void> => {
      engine.daemon.arm(`${point}=sigkill@1`);
      const body = {
        Image: 'busybox:latest',
        Driver: DRIVER,
        HostConfig: { NetworkMode: 'none', VolumeDriver: DRIVER },
        Volumes: { '/x': {} },
      };
      // A daemon that dies answers nothing; what counts is what it leaves.
      await engine.http.request('POST', path, { body }).catch(() => undefined);
      await engine.daemon.ended();
      engine.daemon.arm('');
    };

    test.skipIf(onReference).each([
      ['volume.plugin.create', '/containers/create?name=victim'],
      ['volume.plugin.created', '/containers/create?name=victim'],
      ['database.volumemaking.add', '/containers/create?name=victim'],
      ['database.volumemaking.remove', '/containers/create?name=victim'],
      ['volume.create.row', '/volumes/create'],
    ])('R1: killed at %s of %s, it leaves no volume that nobody knows', async (point, path) => {
      await dieAt(point, path);
      // A plugin that is away is asked again.
      await plugin.down();
      await engine.daemon.up();
      await plugin.up();
      await expect.poll(() => [...plugin.volumes.keys()]).toEqual([]);
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      expect(await engine.list()).toEqual([]);
    });

    test.skipIf(onReference)(
      'R1: killed again at volume.plugin.unmake, it goes on the time after',
      async () => {
        await dieAt('volume.plugin.created', '/containers/create?name=victim');
        expect([...plugin.volumes.keys()]).toHaveLength(1);
        engine.daemon.arm('volume.plugin.unmake=sigkill@1');
        // It may die before it is ready, or after.
        await engine.daemon.up().catch(() => undefined);
        await engine.daemon.ended();
        engine.daemon.arm('');
        await engine.daemon.up();
        await expect.poll(() => [...plugin.volumes.keys()]).toEqual([]);
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
        expect(await engine.list()).toEqual([]);
      },
    );

    test.skipIf(onReference).each(POINTS.filter((point) => point.startsWith('volume.')))(
      'R1: failing at %s, it leaves nothing mounted and can go on',
      async (point) => {
        engine.daemon.arm(`${point}=error(on purpose)@1`);
        // A failure is what it is for.
        await life().catch(() => undefined);
        engine.daemon.arm('');
        await engine.removeAll();
        await expect.poll(() => plugin.mounts('data')).toEqual([]);
        await engine.http.ok('DELETE', '/volumes/data?force=1');
        expect([...plugin.volumes.keys()]).toEqual([]);
        await life();
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
      },
    );
  },
  { armable: true, config: onReference ? {} : { 'plugin-timeout': 5 } },
);

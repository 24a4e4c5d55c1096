import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { SystemInfo, VolumeView } from '../../../api/types/system.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { differences } from '../../support/engine/oracle.ts';
import { VolumePlugin } from '../../support/storage/volume-plugin.ts';

const DRIVER = 'berthtest';

function refuse(): never {
  throw new Error('the array is full');
}

describeEngine('volume plugins', (engine) => {
  let plugin: VolumePlugin;
  const plugins = (): string => (onReference ? '/run/docker/plugins' : `${engine.daemon.paths.root}/plugins`);

  beforeAll(async () => {
    const { root } = engine.daemon.paths;
    const socket = `${plugins()}/${DRIVER}.sock`;
    plugin = await new VolumePlugin({ socket, folder: `${root}/of-the-plugin` }).up();
  });
  afterAll(() => plugin[Symbol.asyncDispose]());
  afterEach(async () => {
    plugin.misbehaviours.clear();
    await engine.removeAll();
    for (const { Name } of (await list()).Volumes) {
      await engine.http.ok('DELETE', `/volumes/${Name}?force=1`);
    }
    plugin.volumes.clear();
    plugin.calls.length = 0;
    plugin.refusals.length = 0;
  });

  const list = async (
    filters: object = {},
  ): Promise<{ Volumes: VolumeView[]; Warnings: string[] | null }> => {
    const path = `/volumes?filters=${encodeURIComponent(JSON.stringify(filters))}`;
    const { Volumes, Warnings } = await engine.http.ok<{
      Volumes: VolumeView[] | null;
      Warnings: string[] | null;
    }>('GET', path);
    return { Volumes: Volumes ?? [], Warnings };
  };
  const create = (Name: string, more: object = {}): Promise<VolumeView> =>
    engine.http.ok('POST', '/volumes/create', { Name, Driver: DRIVER, ...more });
  /** For a plugin that is not to answer: its other answers may be late on a busy machine. */
  const withSecondsToAnswer = async <T>(seconds: number, act: () => Promise<T>): Promise<T> => {
    engine.daemon.configure({ 'plugin-timeout': seconds });
    await engine.daemon.restart({ gracefully: true });
    try {
      return await act();
    } finally {
      engine.daemon.configure({});
      await engine.daemon.restart({ gracefully: true });
    }
  };
  const ask = async (method: string, path: string, body?: object): Promise<[number, string]> => {
    const answer = await engine.http.request(method, path, body === undefined ? {} : { body });
    return [answer.status, answer.text];
  };

  test('create: options go to the plugin, inspect and list tell what it says, info names it', async () => {
    const made = await create('data', { DriverOpts: { colour: 'red' }, Labels: { a: '1' } });
    expect(plugin.volumes.get('data')?.options).toEqual({ colour: 'red' });
    const seen = {
      Name: 'data',
      Driver: DRIVER,
      Mountpoint: plugin.path('data'),
      Labels: { a: '1' },
      Scope: 'global',
      Status: { held: 0 },
    };
    // dockerd asks for the place when somebody inspects.
    const Mountpoint = onReference ? '' : plugin.path('data');
    expect(made).toMatchObject({ Name: 'data', Driver: DRIVER, Mountpoint });
    expect(await engine.http.ok('GET', '/volumes/data')).toMatchObject(seen);
    expect((await list({ driver: [DRIVER] })).Volumes).toMatchObject([{ Name: 'data', Scope: 'global' }]);
    expect((await list({ driver: ['local'] })).Volumes).toEqual([]);
    const info = await engine.http.ok<SystemInfo>('GET', '/info');
    expect(info.Plugins.Volume).toEqual([DRIVER, 'local']);
    await engine.http.ok('DELETE', '/volumes/data');
    expect([...plugin.volumes.keys()]).toEqual([]);
  });

  test('mount: once for each container, by its id, until it ends; what the image has there is copied', async () => {
    const host = { Binds: ['data:/etc'], VolumeDriver: DRIVER };
    const one = await engine.start(['sleep', '1000'], host);
    const two = await engine.start(['sleep', '1000'], {
      Mounts: [
        { Type: 'volume', Source: 'data', Target: '/x', VolumeOptions: { DriverConfig: { Name: DRIVER } } },
      ],
    });
    expect(plugin.files('data')).toContain('passwd');
    expect((await engine.exec(two, ['ls', '/x'])).stdout).toContain('passwd');
    expect((await engine.inspect(two)).Mounts).toMatchObject([
      { Name: 'data', Driver: DRIVER, Source: plugin.path('data') },
    ]);
    expect(plugin.mounts('data')).toHaveLength(2);
    if (!onReference) {
      expect(plugin.mounts('data')).toEqual([one, two].toSorted());
    }
    expect((await ask('DELETE', '/volumes/data'))[0]).toBe(409);
    await engine.http.ok('POST', `/containers/${one}/kill`);
    await expect.poll(() => plugin.mounts('data')).toHaveLength(1);
    await engine.http.ok('POST', `/containers/${one}/start`);
    expect(plugin.mounts('data')).toHaveLength(2);
    await engine.removeAll();
    await expect.poll(() => plugin.mounts('data')).toEqual([]);
    expect(plugin.refusals.filter((each) => !each.startsWith('Get'))).toEqual([]);
  });

  test('volumes that others made are listed, used without naming the driver, and removed', async () => {
    plugin.make('theirs');
    writeFileSync(`${plugin.path('theirs')}/file`, 'hello');
    expect((await list()).Volumes).toMatchObject([{ Name: 'theirs', Driver: DRIVER }]);
    expect(await engine.http.ok('GET', '/volumes/theirs')).toMatchObject({ Driver: DRIVER });
    const { stdout } = await engine.run(['cat', '/x/file'], { Binds: ['theirs:/x'] });
    expect(stdout).toBe('hello');
    expect((await create('theirs')).Name).toBe('theirs');
    expect(plugin.calls.filter((call) => call.startsWith('Create'))).toEqual([]);
    await engine.removeAll();
    await engine.http.ok('DELETE', '/volumes/theirs');
    expect([...plugin.volumes.keys()]).toEqual([]);
  });

  test('an anonymous volume of a plugin goes with its container', async () => {
    const id = await engine.start(['sleep', '1000'], { VolumeDriver: DRIVER }, { Volumes: { '/x': {} } });
    expect(plugin.volumes.size).toBe(1);
    await engine.remove(id);
    await expect.poll(() => plugin.volumes.size).toBe(0);
  });

  test('a name means one volume: that of another driver is refused', async () => {
    await engine.http.ok('POST', '/volumes/create', { Name: 'mine' });
    expect(await ask('POST', '/volumes/create', { Name: 'mine', Driver: DRIVER })).toEqual([
      409,
      expect.stringContaining("driver 'local' already has volume 'mine'"),
    ]);
  });

  test('a plugin that is not there is named', async () => {
    const text = 'error looking up volume plugin nobody: plugin \\"nobody\\" not found';
    const HostConfig = { VolumeDriver: 'nobody', Binds: ['x1:/x'] };
    expect(await ask('POST', '/volumes/create', { Name: 'v1', Driver: 'nobody' })).toEqual([
      404,
      expect.stringContaining(text),
    ]);
    expect(await ask('POST', '/containers/create', { Image: 'busybox', HostConfig })).toEqual([
      404,
      expect.stringContaining(text),
    ]);
    expect((await list()).Volumes).toEqual([]);
    expect(await engine.list()).toEqual([]);
  });

  test.skipIf(onReference)(
    'discovery: files with addresses, in the folders and in folders there',
    async () => {
      const server = createServer((_request, response) => response.end('{"Implements":["VolumeDriver"]}'));
      await new Promise<void>((resolve) => void server.listen(`${plugins()}/other`, resolve));
      mkdirSync(`${plugins()}/three`, { recursive: true });
      writeFileSync(`${plugins()}/one.spec`, `unix://${plugins()}/other\n`);
      writeFileSync(
        `${plugins()}/two.json`,
        JSON.stringify({ Name: 'two', Addr: `unix://${plugins()}/other` }),
      );
      writeFileSync(`${plugins()}/three/three.spec`, `unix://${plugins()}/other`);
      writeFileSync(`${plugins()}/broken.spec`, 'nowhere');
      try {
        await expect
          .poll(async () => (await engine.http.ok<SystemInfo>('GET', '/info')).Plugins.Volume)
          .toEqual([DRIVER, 'local', 'one', 'three', 'two']);
        expect(await ask('POST', '/volumes/create', { Name: 'v1', Driver: 'broken' })).toEqual([
          400,
          expect.stringContaining('no address of a plugin'),
        ]);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    },
  );

  test.skipIf(onReference).each([
    ['no path', { Mountpoint: '' }, /not an absolute path/],
    ['a relative path', { Mountpoint: 'etc' }, /not an absolute path/],
    ['a path with ..', { Mountpoint: '/tmp/../etc' }, /not a path without/],
    ['a path that is not there', { Mountpoint: '/nowhere/at/all' }, /no such file/],
    ['a file', { Mountpoint: '/etc/passwd' }, /not a directory/],
    ['a number', { Mountpoint: 7 }, /not an absolute path/],
    ['no JSON', '<html>', /answered no JSON object/],
    ['a list', [1], /answered no JSON object/],
    ['9 MB', `"${'x'.repeat(9e6)}"`, /longer than/],
    ['nothing in time', new Promise(() => undefined), /no answer within [12] s/],
  ])(
    'a plugin that answers a mount with %s fails the start, and is told to unmount',
    async (_what, answer, text) => {
      await create('data');
      plugin.misbehaviours.set('Mount', (_body, honest) => (honest(), answer));
      const id = await engine.create(['true'], { Binds: ['data:/x'] });
      const begin = (): Promise<[number, string]> => ask('POST', `/containers/${id}/start`);
      const refused = await (answer instanceof Promise ? withSecondsToAnswer(1, begin) : begin());
      expect(refused).toEqual([
        expect.toSatisfy((status: number) => status === 500 || status === 503) as number,
        expect.stringMatching(text),
      ]);
      await expect.poll(() => plugin.mounts('data')).toEqual([]);
      await expect.poll(() => differences(engine.daemon)).toEqual([]);
      plugin.misbehaviours.clear();
      expect(await engine.run(['ls', '/x'], { Binds: ['data:/x'] })).toMatchObject({ exitCode: 0 });
    },
  );

  test('a refusal is told in the words of the plugin, and nothing is kept', async () => {
    plugin.misbehaviours.set('Create', refuse);
    expect(await ask('POST', '/volumes/create', { Name: 'data', Driver: DRIVER })).toEqual([
      500,
      expect.stringContaining('the array is full'),
    ]);
    plugin.misbehaviours.clear();
    expect((await list()).Volumes).toEqual([]);
    await create('data');
    plugin.misbehaviours.set('Mount', refuse);
    const id = await engine.create(['true'], { Binds: ['data:/x'] });
    expect((await ask('POST', `/containers/${id}/start`))[1]).toContain('the array is full');
    expect(plugin.calls.filter((call) => call.startsWith('Unmount'))).toEqual([]);
    await engine.removeAll();
    plugin.misbehaviours.set('Remove', refuse);
    expect((await ask('DELETE', '/volumes/data'))[1]).toContain('the array is full');
    expect((await list()).Volumes).toMatchObject([{ Name: 'data' }]);
  });

  test.skipIf(onReference)('a plugin that is slow or down: others are served, list warns', async () => {
    await create('data');
    plugin.misbehaviours.set('List', () => new Promise(() => undefined));
    plugin.misbehaviours.set('Get', () => new Promise(() => undefined));
    const [listed, other] = await withSecondsToAnswer(1, () =>
      Promise.all([list(), engine.http.ok<VolumeView>('POST', '/volumes/create', { Name: 'other' })]),
    );
    expect(other.Driver).toBe('local');
    expect(listed.Volumes).toMatchObject([{ Name: 'data' }]);
    expect(listed.Warnings).toEqual([expect.stringContaining('no answer within 1 s')]);
    plugin.misbehaviours.clear();
    // The daemon knows where it was.
    await expect.poll(async () => (await list()).Warnings ?? []).toEqual([]);
    await plugin.down();
    const [status, text] = await ask('POST', '/volumes/create', { Name: 'more', Driver: DRIVER });
    expect([status, text]).toEqual([503, expect.stringMatching(/ECONNREFUSED|ENOENT/)]);
    expect((await list()).Volumes).toMatchObject([{ Name: 'data' }, { Name: 'other' }]);
    await plugin.up();
  });

  test.skipIf(onReference)(
    'kill -9: the living keep their mounts, those of the dead are given back',
    async () => {
      const host = { Binds: ['data:/x'], VolumeDriver: DRIVER };
      const living = await engine.start(['sleep', '1000'], host);
      const dead = await engine.start(['sh', '-c', 'while [ ! -e /x/end ]; do sleep 0.1; done'], host);
      expect(plugin.mounts('data')).toEqual([living, dead].toSorted());
      await engine.daemon.kill9();
      writeFileSync(`${plugin.path('data')}/end`, '');
      await plugin.down();
      await engine.daemon.up();
      await engine.untilState(dead, 'exited');
      expect(plugin.mounts('data')).toEqual([living, dead].toSorted());
      await plugin.up();
      await expect.poll(() => plugin.mounts('data')).toEqual([living]);
      await engine.http.ok('POST', `/containers/${dead}/start`);
      await engine.daemon.restart();
      expect((await engine.exec(living, ['ls', '/x'])).stdout).toBe('end\n');
      await engine.http.ok('POST', `/containers/${living}/kill`);
      await expect.poll(() => plugin.mounts('data')).not.toContain(living);
      expect(plugin.refusals.filter((each) => !each.startsWith('Get'))).toEqual([]);
    },
  );

  test.skipIf(onReference)('a plugin that is down when a container ends is asked again', async () => {
    const id = await engine.start(['sleep', '1000'], { Binds: ['data:/x'], VolumeDriver: DRIVER });
    await plugin.down();
    await engine.http.ok('POST', `/containers/${id}/kill`);
    await engine.untilState(id, 'exited');
    await plugin.up();
    await expect.poll(() => plugin.mounts('data')).toEqual([]);
    expect(plugin.refusals.filter((each) => !each.startsWith('Get'))).toEqual([]);
  });
});

import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { mountsBelow } from '../support/cleanup.ts';
import { describeEngine, onReference } from '../support/engine.ts';

describeEngine('volumes', (engine) => {
  const create = (body: object): Promise<{ Name: string }> => engine.http.ok('POST', '/volumes/create', body);
  const prune = async (version: string, filters: object = {}): Promise<string[]> => {
    const query = encodeURIComponent(JSON.stringify(filters));
    const path = `/v${version}/volumes/prune?filters=${query}`;
    const { VolumesDeleted } = await engine.http.ok<{ VolumesDeleted: string[] | null }>('POST', path);
    return (VolumesDeleted ?? []).toSorted();
  };

  afterEach(async () => {
    await engine.removeAll();
    await prune('1.41');
  });

  test.skipIf(onReference)(
    'prune: takes anonymous ones that nobody uses, all of them when told or under 1.41, used ones never',
    async () => {
      const { Name: unnamed } = await create({});
      await create({ Name: 'kept' });
      await create({ Name: 'used' });
      await engine.create(['true'], {}, { HostConfig: { Binds: ['used:/x'] } });
      expect(await prune('1.43')).toEqual([unnamed]);
      expect(await prune('1.43', { all: ['true'] })).toEqual(['kept']);
      const { Name: second } = await create({});
      await create({ Name: 'again' });
      expect(await prune('1.41')).toEqual([second, 'again'].toSorted());
    },
  );

  test('driver options: a tmpfs and a folder of the host are mounted while somebody runs with them', async () => {
    const folder = `${engine.daemon.paths.root}/shared`;
    mkdirSync(folder);
    writeFileSync(`${folder}/here`, 'hello');
    await create({ Name: 'memory', DriverOpts: { type: 'tmpfs', device: 'tmpfs', o: 'size=1m,noexec' } });
    await create({ Name: 'folder', DriverOpts: { type: 'none', device: folder, o: 'bind,ro' } });
    const mounts = (): string[] => mountsBelow(`${engine.daemon.paths.dataRoot}/volumes`);
    const id = await engine.start(['sleep', '1000'], { Binds: ['memory:/m', 'folder:/f'] });
    const other = await engine.start(['sleep', '1000'], { Binds: ['memory:/m'] });
    expect((await engine.exec(id, ['cat', '/f/here'])).stdout).toBe('hello');
    expect((await engine.exec(id, ['touch', '/f/there'])).exitCode).not.toBe(0);
    expect((await engine.exec(id, ['grep', ' /m ', '/proc/mounts'])).stdout).toMatch(/noexec.*size=1024k/);
    await engine.exec(id, ['touch', '/m/from-the-first']);
    if (!onReference) {
      await engine.daemon.restart();
      await engine.http.ok('POST', `/containers/${id}/kill`);
      await expect.poll(mounts).toHaveLength(1);
      expect((await engine.exec(other, ['ls', '/m'])).stdout).toBe('from-the-first\n');
    }
    await engine.removeAll();
    expect(mounts()).toEqual([]);
    // What a container starts with is not what the last one left.
    expect(await engine.run(['ls', '/m'], { Binds: ['memory:/m'] })).toMatchObject({ stdout: '' });
  });

  test.each([
    [{ type: 'tmpfs' }, 400, /missing required option: .+device/],
    [{ colour: 'red' }, 400, /invalid option/],
  ])('driver options: %j are refused', async (DriverOpts, status, text) => {
    const answer = await engine.http.request('POST', '/volumes/create', {
      body: { Name: 'bad', DriverOpts },
    });
    expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(text)]);
  });

  test('driver options: what cannot be mounted fails the start and leaves nothing', async () => {
    await create({ Name: 'gone', DriverOpts: { type: 'none', device: '/nowhere', o: 'bind' } });
    const id = await engine.create(['true'], { Binds: ['gone:/x'] });
    const answer = await engine.http.request('POST', `/containers/${id}/start`);
    expect([answer.status, answer.text]).toEqual([
      500,
      expect.stringMatching(/failed to mount local volume/),
    ]);
  });
});

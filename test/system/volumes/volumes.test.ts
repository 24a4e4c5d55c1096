import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import type { MountRequest } from '../../../api/types/host-config.ts';
import { mountsBelow } from '../../support/engine/cleanup.ts';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import { until } from '../../support/engine/http.ts';
import { differences } from '../../support/engine/oracle.ts';
import { processFile } from '../../support/process.ts';
import { tar } from '../../support/images/tar.ts';

describeEngine('volumes', (engine) => {
  const create = (body: object): Promise<{ Name: string }> => engine.http.ok('POST', '/volumes/create', body);
  const prune = async (version: string, filters: object = {}): Promise<string[]> => {
    const query = encodeURIComponent(JSON.stringify(filters));
    const path = `/v${version}/volumes/prune?filters=${query}`;
    const { VolumesDeleted } = await engine.http.ok<{ VolumesDeleted: string[] }>('POST', path);
    return VolumesDeleted.toSorted();
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
    await expect.poll(mounts).toEqual([]);
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

  test.skipIf(onReference)(
    'R29: a mount that another namespace holds keeps nobody from removing the container and its volume',
    async () => {
      await create({ Name: 'held', DriverOpts: { type: 'tmpfs', device: 'tmpfs' } });
      const id = await engine.start(['sleep', '1000'], { Binds: ['held:/x'] });
      const { pid } = engine.daemon;
      const holder = spawn('nsenter', ['-t', String(pid), '-m', 'unshare', '-m', 'sleep', '100'], {
        stdio: 'ignore',
      });
      const about = (file: string): string => processFile(holder.pid ?? 0, file);
      await until('the holder to have mounts of its own', () => about('comm') === 'sleep\n');
      try {
        expect(about('mountinfo')).toContain(id);
        await engine.http.ok('DELETE', `/containers/${id}?force=1`);
        await engine.http.ok('DELETE', '/volumes/held');
        await expect.poll(() => differences(engine.daemon)).toEqual([]);
      } finally {
        holder.kill('SIGKILL');
      }
    },
  );

  test.skipIf(onReference)(
    'R30: mounts that a crash left are taken off, those of the user in a volume are not touched',
    async () => {
      await create({ Name: 'left', DriverOpts: { type: 'tmpfs', device: 'tmpfs' } });
      const { Mountpoint } = await engine.http.ok<{ Mountpoint: string }>('POST', '/volumes/create', {
        Name: 'plain',
      });
      const own = `${Mountpoint}/own`;
      const left = Mountpoint.replace('/plain/', '/left/');
      mkdirSync(own);
      await engine.daemon.kill9();
      execFileSync('mount', ['-t', 'tmpfs', 'users', own]);
      try {
        execFileSync('mount', ['-t', 'tmpfs', 'crashed', left]);
        await engine.daemon.up();
        await expect.poll(() => mountsBelow(`${engine.daemon.paths.dataRoot}/volumes`)).toEqual([own]);
        const answer = await engine.http.request('DELETE', '/volumes/plain');
        expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('is a mount point')]);
      } finally {
        execFileSync('umount', [own]);
      }
    },
  );

  test.each([
    ['of its own', { Volumes: { '/etc/group': {} } }, {}],
    ['with a name', {}, { Binds: ['over:/bin/busybox'] }],
  ])('mounts: a volume %s over a file of the image is refused in words', async (_what, config, host) => {
    const start = async (): Promise<unknown> => engine.start(['true'], host, config);
    await expect(start()).rejects.toThrow(/existing file|is not directory/);
  });

  test('R31: copying into and out of a container that is stopped leaves no mount', async () => {
    const Mounts: MountRequest[] = [
      { Type: 'volume', Source: 'kept', Target: '/kept' },
      {
        Type: 'volume',
        Source: 'disk',
        Target: '/disk',
        VolumeOptions: { DriverConfig: { Name: 'local', Options: { type: 'tmpfs', device: 'tmpfs' } } },
      },
    ];
    const id = await engine.create(['true'], { Mounts });
    const mounts = (): string[] => mountsBelow(engine.daemon.paths.root);
    const before = mounts();
    for (const folder of ['/', '/kept', '/disk', '/kept', '/disk', '/']) {
      const path = `/containers/${id}/archive?path=${folder}`;
      const put = await engine.http.request('PUT', path, { body: tar([{ name: 'file', content: 'x' }]) });
      expect(put.status).toBe(200);
      expect((await engine.http.request('GET', path)).status).toBe(200);
    }
    await expect.poll(mounts).toEqual(before);
  });
});

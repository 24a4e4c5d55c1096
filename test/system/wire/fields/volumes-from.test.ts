import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { MountPoint } from '../../../../api/types/container.ts';
import { describeEngine, onReference } from '../../../support/engine/engine.ts';
import { tar } from '../../../support/images/tar.ts';
import { busyboxImageTar } from '../../../support/images/images.ts';

const ANONYMOUS = { Volumes: { '/data': {} } };

function shown(mounts: readonly MountPoint[]): unknown[] {
  return mounts
    .map(({ Type, Name = '', Destination, RW }) => ({ Type, Name, Destination, RW }))
    .toSorted((one, other) => (one.Destination < other.Destination ? -1 : 1));
}

describeEngine('VolumesFrom', (engine) => {
  const volumeNames = async (): Promise<string[]> => {
    const { Volumes } = await engine.http.ok<{ Volumes: { Name: string }[] | null }>('GET', '/volumes');
    return (Volumes ?? []).map(({ Name }) => Name);
  };
  const remove = (id: string, query = '?v=1&force=1'): Promise<unknown> =>
    engine.http.ok('DELETE', `/containers/${id}${query}`);
  const answerTo = async (...VolumesFrom: string[]): Promise<[number, string]> => {
    const { status, text } = await engine.http.request('POST', '/containers/create', {
      body: { Image: 'busybox:latest', Cmd: ['true'], HostConfig: { VolumesFrom } },
    });
    return [status, text];
  };

  test('VolumesFrom: what one container writes the other reads, by name and by id', async () => {
    const donor = await engine.start(['sh', '-c', 'echo here >/data/f; sleep 1000'], {}, ANONYMOUS, 'donor');
    await expect.poll(async () => (await engine.exec(donor, ['cat', '/data/f'])).stdout).toBe('here\n');
    const [mount] = (await engine.inspect(donor)).Mounts;
    for (const ref of ['donor', '/donor', donor, donor.slice(0, 12)]) {
      const { id, stdout } = await engine.run(['cat', '/data/f'], { VolumesFrom: [ref] });
      expect(stdout).toBe('here\n');
      expect(shown((await engine.inspect(id)).Mounts)).toEqual(shown(mount === undefined ? [] : [mount]));
      expect((await engine.inspect(id)).HostConfig.VolumesFrom).toEqual([ref]);
    }
  });

  test('VolumesFrom: ro is read-only, rw stays read-only where the donor is', async () => {
    await engine.create(['true'], { Binds: ['ro-volume:/ro:ro', 'rw-volume:/rw'] }, {}, 'donor');
    const script = ['sh', '-c', 'touch /ro/x; touch /rw/x; grep -E " /(ro|rw) " /proc/mounts | cut -c1-0'];
    const asReadOnly = await engine.run(script, { VolumesFrom: ['donor:ro'] });
    expect(asReadOnly.stderr.match(/Read-only file system/g)).toHaveLength(2);
    const asWritable = await engine.run(script, { VolumesFrom: ['donor:rw'] });
    expect(asWritable.stderr).toMatch(/^touch: \/ro\/x: Read-only file system\n$/);
    await engine.removeAll();
    await engine.http.ok('DELETE', '/volumes/ro-volume');
    await engine.http.ok('DELETE', '/volumes/rw-volume');
  });

  test('VolumesFrom: a donor that never started has its volumes filled from its own image', async () => {
    const layer = tar([
      { name: 'data/', mode: 0o755 },
      { name: 'data/seed', content: 'from the image' },
    ]);
    await engine.http.ok(
      'POST',
      '/images/load?quiet=1',
      busyboxImageTar({ tags: ['seeded:1'], extraLayers: [layer] }),
    );
    await engine.create(['true'], {}, { ...ANONYMOUS, Image: 'seeded:1' }, 'donor');
    // The other image has nothing there.
    expect((await engine.run(['cat', '/data/seed'], { VolumesFrom: ['donor'] })).stdout).toBe(
      'from the image',
    );
    await engine.removeAll();
    await engine.http.ok('DELETE', '/images/seeded:1?force=1');
  });

  test('VolumesFrom: of two donors the later wins, and one’s own mounts win over both', async () => {
    const folder = `${engine.daemon.paths.root}/own`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/who`, 'mine');
    for (const name of ['first', 'second']) {
      const Cmd = ['sh', '-c', `echo ${name} >/a/who; echo ${name} >/b/who`];
      const id = await engine.start(Cmd, {}, { Volumes: { '/a': {}, '/b': {} } }, name);
      await engine.wait(id);
    }
    const { stdout, id } = await engine.run(['cat', '/a/who', '/b/who'], {
      VolumesFrom: ['first', 'second'],
      Binds: [`${folder}:/b`],
    });
    expect(stdout).toBe('second\nmine');
    expect((await engine.inspect(id)).Mounts).toHaveLength(2);
  });

  test('VolumesFrom: binds and tmpfs of Mounts come too, Volumes of the image do not cover them', async () => {
    const folder = `${engine.daemon.paths.root}/bound`;
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/f`, 'bound');
    await engine.create(
      ['true'],
      {
        Binds: [`${folder}:/bound:ro`],
        Mounts: [{ Type: 'tmpfs', Target: '/scratch' }],
        Tmpfs: { '/own': '' },
      },
      {},
      'donor',
    );
    const { stdout, id } = await engine.run(
      ['sh', '-c', 'cat /bound/f; grep -c " /scratch tmpfs" /proc/mounts; grep -c " /own " /proc/mounts'],
      { VolumesFrom: ['donor'] },
      { Volumes: { '/bound': {} } },
    );
    expect(stdout).toBe('bound1\n0\n');
    expect(shown((await engine.inspect(id)).Mounts)).toEqual([
      { Type: 'bind', Name: '', Destination: '/bound', RW: false },
      { Type: 'tmpfs', Name: '', Destination: '/scratch', RW: true },
    ]);
  });

  test('VolumesFrom: an anonymous volume goes with the last container that is removed with its volumes', async () => {
    const donor = await engine.create(['true'], {}, ANONYMOUS);
    const user = await engine.create(['true'], { VolumesFrom: [donor] });
    expect(await volumeNames()).toHaveLength(1);
    await remove(donor);
    expect(await volumeNames()).toHaveLength(1);
    await remove(user);
    expect(await volumeNames()).toEqual([]);
  });

  test('VolumesFrom: outlives the donor, over a crash of the daemon too', async () => {
    const donor = await engine.start(['sh', '-c', 'echo kept >/data/f'], {}, ANONYMOUS);
    await engine.wait(donor);
    const user = await engine.create(['cat', '/data/f'], { VolumesFrom: [`${donor}:ro`] });
    await remove(donor);
    if (!onReference) {
      await engine.daemon.restart();
    }
    await engine.http.ok('POST', `/containers/${user}/start`);
    await engine.wait(user);
    expect((await engine.logs(user)).stdout).toBe('kept\n');
  });

  test.each(['nobody', '', 'donor:rx', 'donor:nocopy', 'donor:rshared', 'donor:ro:rw', ':ro'])(
    'VolumesFrom: %j is refused',
    async (entry) => {
      await engine.create(['true'], {}, ANONYMOUS, 'donor');
      const [status, text] = await answerTo(entry);
      expect([onReference ? 400 : status, text]).toEqual([
        400,
        expect.stringMatching(/No such container: nobody|invalid mode|empty string|no container is named/),
      ]);
    },
  );
});

import { execFileSync } from 'node:child_process';
import { mkdirSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { VolumeView } from '../../api/types/system.ts';
import { projectOf, projectQuota } from '../../daemon/base/kernel/files/project-quota.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { ProjectQuotas } from '../../storage/quotas/project-quotas.ts';
import { Engine } from '../support/engine/engine.ts';
import { quotasContract } from '../support/storage/quotas-contract.ts';
import { PATIENCE } from '../support/patience.ts';

const MB = 1 << 20;
const FOLDER = '/var/tmp/berth-quotas';

/** The file systems that have project quotas, and how they are made and mounted with them. */
const FILE_SYSTEMS = [
  { type: 'ext4', make: ['mkfs.ext4', '-q', '-F', '-O', 'quota,project'], options: 'loop,prjquota' },
  { type: 'xfs', make: ['mkfs.xfs', '-q', '-f'], options: 'loop,pquota' },
];

/** Writes so many MB into a file and syncs it; answers `full` when they did not fit. */
function fill(file: string, megabytes: number): string[] {
  return [
    'sh',
    '-c',
    `dd if=/dev/zero of=${file} bs=1M count=${megabytes} conv=fsync 2>/dev/null || echo full`,
  ];
}

describe.each(FILE_SYSTEMS)('$type', ({ type, make, options }) => {
  const place = join(FOLDER, type);
  const dataRoot = join(place, 'data');
  const quotas = new ProjectQuotas();
  const engine = new Engine();
  const config = { 'data-root': dataRoot };

  beforeAll(async () => {
    const disk = `${place}.disk`;
    mkdirSync(place, { recursive: true });
    writeFileSync(disk, '');
    truncateSync(disk, 600 * MB);
    const [program = '', ...flags] = make;
    execFileSync(program, [...flags, disk]);
    execFileSync('mount', ['-o', options, disk, place]);
    mkdirSync(join(place, 'contract'));
    await engine.up({ config, armable: true });
  }, 120_000 * PATIENCE);

  afterAll(async () => {
    await engine.down();
    execFileSync('umount', ['-l', place]);
    rmSync(FOLDER, { recursive: true, force: true });
  }, 120_000 * PATIENCE);

  afterEach(() => engine.removeAll());

  /** Project and limit, as the kernel has them now. */
  async function quotaOf(directory: string): Promise<{ project: number; limitBytes: number | undefined }> {
    using open = new OpenFile(openSync(directory, 'r'));
    return { project: projectOf(open.fd).id, limitBytes: (await quotas.usage(directory))?.limitBytes };
  }

  function createVolume(name: string, size: string): Promise<VolumeView> {
    return engine.http.ok('POST', '/volumes/create', { Name: name, DriverOpts: { size } });
  }

  quotasContract(type, () => ({ quotas, parent: join(place, 'contract') }));

  test('a volume with a size takes as much and no more, shows it, and is empty again after a removal', async () => {
    const { Mountpoint } = await createVolume('small', '16m');
    const mounts = { Binds: ['small:/data'] };
    const first = await engine.run(fill('/data/a', 8), mounts);
    expect(first.stdout).toBe('');
    const { stdout } = await engine.run(['sh', '-c', 'df -m /data | tail -1'], mounts);
    expect(stdout.split(/\s+/)[1]).toBe('16');
    expect((await engine.run(fill('/data/b', 16), mounts)).stdout).toBe('full\n');
    expect((await engine.run(['rm', '/data/a', '/data/b'], mounts)).exitCode).toBe(0);
    expect((await engine.run(fill('/data/c', 12), mounts)).stdout).toBe('');
    // Its owner cannot take a file out of the count, nor a directory. The filter is what keeps him.
    const chattr = { Binds: ['small:/data', '/usr:/usr:ro', '/usr/lib:/lib:ro', '/usr/lib64:/lib64:ro'] };
    const own = { SecurityOpt: ['seccomp=unconfined'] };
    for (const away of [
      ['chattr', '-P', '/data'],
      ['chattr', '-p', '0', '/data/c'],
    ]) {
      expect(await engine.run(away, chattr), away.join(' ')).toMatchObject({
        exitCode: 1,
        stderr: expect.stringMatching(/not permitted/),
      });
    }
    expect((await engine.run(['chattr', '-p', '0', '/data/c'], { ...chattr, ...own })).exitCode).toBe(0);
    await engine.removeAll();
    const { project, limitBytes } = await quotaOf(join(Mountpoint, '..'));
    expect(limitBytes).toBe(16 * MB);
    await engine.http.ok('DELETE', '/volumes/small');
    using root = new OpenFile(openSync(place, 'r'));
    await expect.poll(() => projectQuota(root.fd, project)).toEqual({ usedBytes: 0, limitBytes: 0 });
  });

  test('a volume too small for what the image has there: the start says so, nothing is half filled', async () => {
    await createVolume('tiny', '256k');
    const id = await engine.create(['true'], { Binds: ['tiny:/bin'] });
    const { status, json } = await engine.http.request('POST', `/containers/${id}/start`);
    expect(status).toBe(503);
    expect(json).toMatchObject({
      message: expect.stringMatching(/populate volume tiny from \/bin: .*(quota|space)/),
    });
    await engine.remove(id);
    expect((await engine.run(['ls', '/data'], { Binds: ['tiny:/data'] })).stdout).toBe('');
  });

  test('a container with StorageOpt.size writes as much and no more; its log goes on', async () => {
    const host = { StorageOpt: { size: '24m' } };
    expect((await engine.run(fill('/a', 8), host)).stdout).toBe('');
    const full = await engine.run(fill('/a', 40), { ...host, CapAdd: ['SYS_RESOURCE', 'SYS_ADMIN'] });
    expect(full.stdout).toBe('full\n');
    expect((await engine.inspect(full.id)).HostConfig.StorageOpt).toEqual({ size: '24m' });
    const log = await engine.run(
      ['sh', '-c', 'dd if=/dev/zero of=/a bs=1M count=40 2>/dev/null; seq 1 100000'],
      host,
    );
    expect(log.stdout.split('\n')).toHaveLength(100_001);
    // A file of the image that is copied up counts as well.
    const copied = await engine.run(
      ['sh', '-c', 'dd if=/dev/zero of=/a bs=1M count=40 2>/dev/null; echo x >> /bin/busybox || echo full'],
      host,
    );
    expect(copied.stdout).toBe('full\n');
    const upper = join(dataRoot, 'containers', full.id, 'upper');
    expect((await quotaOf(upper)).limitBytes).toBe(24 * MB);
    await engine.remove(full.id);
  });

  test('limits hold over a kill -9 of the daemon, and are put back when they were lost', async () => {
    const { Mountpoint } = await createVolume('kept', '16m');
    const home = join(Mountpoint, '..');
    const id = await engine.create(fill('/a', 40), { StorageOpt: { size: '24m' } });
    const upper = join(dataRoot, 'containers', id, 'upper');
    await engine.daemon.kill9();
    await quotas.forget(home);
    await quotas.forget(upper);
    await engine.daemon.up();
    expect((await quotaOf(home)).limitBytes).toBe(16 * MB);
    await engine.http.ok('POST', `/containers/${id}/start`);
    await engine.wait(id);
    expect((await engine.logs(id)).stdout).toBe('full\n');
  });

  test.each(['quota.project', 'quota.limit', 'volume.create.row'])(
    'a daemon killed at %s of a creation leaves neither volume nor limit',
    async (failpoint) => {
      const name = `killed-${failpoint}`;
      engine.daemon.arm(`${failpoint}=sigkill`);
      // The connection breaks.
      await createVolume(name, '16m').catch(() => undefined);
      await engine.daemon.ended();
      engine.daemon.arm('');
      await engine.daemon.up();
      expect((await engine.http.request('GET', `/volumes/${name}`)).status).toBe(404);
      expect((await createVolume(name, '20m')).Options).toEqual({ size: '20m' });
      expect((await quotaOf(join(dataRoot, 'volumes', name))).limitBytes).toBe(20 * MB);
      await engine.http.ok('DELETE', `/volumes/${name}`);
    },
  );

  test('a daemon killed at quota.forget of a removal finishes it the next time', async () => {
    const { Mountpoint } = await createVolume('leaving', '16m');
    const { project } = await quotaOf(join(Mountpoint, '..'));
    engine.daemon.arm('quota.forget=sigkill');
    // The connection breaks.
    await engine.http.request('DELETE', '/volumes/leaving').catch(() => undefined);
    await engine.daemon.ended();
    engine.daemon.arm('');
    await engine.daemon.up();
    expect((await engine.http.request('GET', '/volumes/leaving')).status).toBe(404);
    using root = new OpenFile(openSync(place, 'r'));
    await expect.poll(() => projectQuota(root.fd, project)).toEqual({ usedBytes: 0, limitBytes: 0 });
  });
});

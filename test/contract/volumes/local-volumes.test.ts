import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { LocalVolumes } from '../../../storage/volumes/local-volumes.ts';
import { FakeQuotas } from '../../support/fakes/fake-quotas.ts';

let folder: string;
let image: string;
let volumes: LocalVolumes;
let quotas: FakeQuotas;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bth-volumes-'));
  image = join(folder, 'image');
  mkdirSync(image);
  quotas = new FakeQuotas();
  volumes = new LocalVolumes({
    root: join(folder, 'volumes'),
    quotas,
    removeTree: (path) => rm(path, { recursive: true, force: true }),
    log: silentLogger,
  });
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

const SEED = `
  mkdir -p data/deep/er && cd data
  echo hello > file && touch -d '2001-02-03 04:05:06.123456789' file && chown 12:34 file && chmod 4751 file
  python3 -c "import os; os.setxattr('file', 'user.binary', bytes([255,0,254,128]))"
  ln file deep/hard && ln -s /etc/passwd absolute && ln -s ../../../outside deep/relative && chown -h 7:8 absolute
  mkfifo -m 622 pipe && mknod device c 1 3 && chown 5:6 device && touch -d '1999-01-01 00:00:00.5' device
  head -c 300000 /dev/urandom > deep/er/big && touch "$(printf 'odd\\377name')" && chmod 1777 deep && chmod 0 deep/er
  touch -d '2010-01-01' deep/er deep && chown 999:998 . && chmod 2750 . && touch -d '2011-11-11 11:11:11.111' .
`;

/** Everything about a tree that a copy keeps, by the system's own tools. Link counts and inodes tell hard links. */
function describe(root: string): string {
  const script = `
    find . -printf '%P|%y|%m|%U:%G|%n|%l|%TY-%Tm-%Td %TT\\n' | LC_ALL=C sort
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    stat -c '%n %t:%T' device
    python3 -c "
import os
for base, dirs, files in sorted(os.walk(b'.')):
    for name in sorted(files):
        path = os.path.join(base, name)
        names = os.listxattr(path, follow_symlinks=False)
        print(path, [(a, os.getxattr(path, a, follow_symlinks=False)) for a in names])"
    stat -c %i file deep/hard | uniq | wc -l`;
  return execFileSync('sh', ['-c', script], { cwd: root, encoding: 'latin1' });
}

function seed(): void {
  execFileSync('sh', ['-ec', SEED], { cwd: image });
}

test('an empty volume takes over a directory with everything about it', async () => {
  seed();
  await volumes.create('v');
  await volumes.populate('v', image, '/data');
  expect(describe(volumes.mountpoint('v'))).toBe(describe(join(image, 'data')));
  expect(readdirSync(join(folder, 'volumes/v'))).toEqual(['_data']);
});

test('directories are passable, not listable, down to the one that containers see', async () => {
  await volumes.create('v');
  const modes = ['volumes', 'volumes/v', 'volumes/v/_data'].map((path) =>
    (statSync(join(folder, path)).mode & 0o7777).toString(8),
  );
  expect(modes).toEqual(['701', '701', '755']);
});

test('a volume that holds something is left as it is', async () => {
  seed();
  await volumes.create('v');
  writeFileSync(join(volumes.mountpoint('v'), 'mine'), '');
  await volumes.populate('v', image, '/data');
  expect(readdirSync(volumes.mountpoint('v'))).toEqual(['mine']);
});

test.each([
  ['nothing there', '/none'],
  ['a link that leads out of the tree', '/out'],
  ['dots that lead out of the tree', '/../../../..//etc'],
  ['a link in a circle', '/circle'],
])('class 22: a source that is %s copies nothing from outside', async (_name, source) => {
  execFileSync('sh', ['-ec', 'ln -s /etc out; ln -s circle circle'], { cwd: image });
  await volumes.create('v');
  await volumes.populate('v', image, source);
  expect(readdirSync(volumes.mountpoint('v'))).toEqual([]);
});

test('class 22: a source that is a file is refused, and nothing is copied', async () => {
  writeFileSync(join(image, 'file'), 'content');
  await volumes.create('v');
  await expect(volumes.populate('v', image, '/file')).rejects.toThrow(
    'cannot mount volume over existing file, file exists /file',
  );
  expect(readdirSync(volumes.mountpoint('v'))).toEqual([]);
});

test('a tree that nests too deep is refused, and nothing of it stays', async () => {
  execFileSync('python3', ['-c', 'import os\nfor i in range(300):\n os.mkdir("d")\n os.chdir("d")'], {
    cwd: image,
  });
  await volumes.create('v');
  await expect(volumes.populate('v', image, '/')).rejects.toThrow(
    /populate volume v from \/: .*nest deeper than 256/,
  );
  expect(readdirSync(join(folder, 'volumes/v'))).toEqual(['_data']);
});

test.each([
  'volume.populate.copy',
  'volume.populate.copied',
  'volume.populate.filled',
  'volume.populate.moved',
  'volume.populate.done',
])('a daemon killed at %s leaves a volume that ends up complete', async (failpoint) => {
  seed();
  const repository = join(import.meta.dirname, '../../..');
  const script = join(folder, 'script.mts');
  writeFileSync(
    script,
    `import { LocalVolumes } from '${repository}/storage/volumes/local-volumes.ts';
     import { rm } from 'node:fs/promises';
     import { silentLogger } from '${repository}/daemon/base/logger.ts';
     import { ProjectQuotas } from '${repository}/storage/quotas/project-quotas.ts';
     const volumes = new LocalVolumes({
       root: '${folder}/volumes',
       quotas: new ProjectQuotas(),
       removeTree: (path) => rm(path, { recursive: true, force: true }),
       log: silentLogger,
     });
     await volumes.create('v');
     await volumes.populate('v', '${image}', '/data');`,
  );
  const env = { ...process.env, BERTH_FAILPOINTS: `${failpoint}=sigkill` };
  const { signal } = spawnSync(process.execPath, ['--import', 'tsx', script], { env, cwd: repository });
  expect(signal).toBe('SIGKILL');
  await volumes.restore(new Set(['v']), new Set());
  await volumes.populate('v', image, '/data');
  expect(describe(volumes.mountpoint('v'))).toBe(describe(join(image, 'data')));
  expect(readdirSync(join(folder, 'volumes/v'))).toEqual(['_data']);
});

test('a removed volume can come back until it is finished', async () => {
  await volumes.create('v');
  writeFileSync(join(volumes.mountpoint('v'), 'mine'), '');
  const removal = await volumes.beginRemove('v');
  expect(existsSync(volumes.mountpoint('v'))).toBe(false);
  await removal.undo();
  expect(readdirSync(volumes.mountpoint('v'))).toEqual(['mine']);
  await (await volumes.beginRemove('v')).finish();
  expect(readdirSync(join(folder, 'volumes'))).toEqual([]);
});

test('a volume that something is mounted in is not removed', async () => {
  await volumes.create('v');
  execFileSync('mount', ['-t', 'tmpfs', 'bth-test', volumes.mountpoint('v')]);
  try {
    await expect(volumes.beginRemove('v')).rejects.toThrow(
      /remove v: .*_data is a mount point, unmount it first/,
    );
  } finally {
    execFileSync('umount', [volumes.mountpoint('v')]);
  }
});

test('restore: brings back unfinished removals, keeps strangers with data, completes missing directories', async () => {
  for (const name of ['kept', 'removed', 'empty', 'stranger']) {
    await volumes.create(name);
  }
  writeFileSync(join(volumes.mountpoint('kept'), 'mine'), '');
  writeFileSync(join(volumes.mountpoint('stranger'), 'data'), '');
  await volumes.beginRemove('kept');
  await volumes.beginRemove('removed');
  await volumes.restore(new Set(['kept', 'missing']), new Set());
  expect(readdirSync(join(folder, 'volumes')).toSorted()).toEqual(['kept', 'missing', 'stranger']);
  expect(readdirSync(volumes.mountpoint('kept'))).toEqual(['mine']);
});

test('undoCreate takes away what create made, as far as it came, and nothing that holds data', async () => {
  const left = () => readdirSync(join(folder, 'volumes')).toSorted();
  await volumes.create('made');
  await volumes.undoCreate('made');
  mkdirSync(join(folder, 'volumes/half-made'));
  await volumes.undoCreate('half-made');
  await volumes.undoCreate('never-made');
  await volumes.create('adopted');
  writeFileSync(join(volumes.mountpoint('adopted'), 'data'), 'kept');
  await volumes.undoCreate('adopted');
  expect(left()).toEqual(['adopted']);
});

test.each([
  'volume.fill.folder',
  'volume.populate.copy',
  'volume.populate.entry',
  'volume.fill.copied',
  'volume.populate.moved',
  'volume.fill.moved',
  'volume.fill.done',
])('a daemon killed at %s leaves a mounted file system that ends up complete', async (failpoint) => {
  seed();
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  const repository = join(import.meta.dirname, '../../..');
  const script = join(folder, 'script.mts');
  writeFileSync(
    script,
    `import { LocalVolumes } from '${repository}/storage/volumes/local-volumes.ts';
     import { rm } from 'node:fs/promises';
     import { silentLogger } from '${repository}/daemon/base/logger.ts';
     import { ProjectQuotas } from '${repository}/storage/quotas/project-quotas.ts';
     const volumes = new LocalVolumes({
       root: '${folder}/volumes',
       quotas: new ProjectQuotas(),
       removeTree: (path) => rm(path, { recursive: true, force: true }),
       log: silentLogger,
     });
     await volumes.populateAt('${disk}', 'v', '${image}', '/data');`,
  );
  const nth = failpoint === 'volume.populate.entry' ? '@3' : '';
  const env = { ...process.env, BERTH_FAILPOINTS: `${failpoint}=sigkill${nth}` };
  const { signal, stderr } = spawnSync(process.execPath, ['--import', 'tsx', script], {
    env,
    cwd: repository,
  });
  expect([signal, stderr.toString()]).toEqual(['SIGKILL', '']);
  await volumes.restore(new Set(), new Set(['v']));
  await volumes.populateAt(disk, 'v', image, '/data');
  expect(describe(disk)).toBe(describe(join(image, 'data')));
  expect(readdirSync(join(folder, 'volumes/.filling'))).toEqual([]);
});

test('class 22: a mounted file system that holds anything is left alone, and links put in its way', async () => {
  seed();
  const disk = join(folder, 'disk');
  const outside = join(folder, 'elsewhere');
  mkdirSync(join(outside, 'entries'), { recursive: true });
  mkdirSync(join(outside, 'directory'));
  writeFileSync(join(outside, 'entries/secret'), 'of the host');
  const mark = `.filling-${'0'.repeat(32)}`;
  mkdirSync(disk);
  mkdirSync(join(folder, 'volumes/.filling'), { recursive: true });
  writeFileSync(join(folder, 'volumes/.filling/v'), `${mark} complete`);
  // As somebody who writes there could make of the folder while no daemon runs.
  execFileSync('ln', ['-s', outside, join(disk, mark)]);
  await volumes.populateAt(disk, 'v', image, '/data');
  expect(describe(disk)).toBe(describe(join(image, 'data')));
  expect(readdirSync(join(outside, 'entries'))).toEqual(['secret']);
  writeFileSync(join(disk, 'mine'), '');
  rmSync(join(disk, 'file'));
  await volumes.populateAt(disk, 'v', image, '/data');
  expect(existsSync(join(disk, 'file'))).toBe(false);
});

const MB = 1 << 20;

test('a size is the limit of the whole volume, until it is gone', async () => {
  await volumes.create('v', 16 * MB);
  expect(quotas.limits).toEqual([16 * MB]);
  expect(await quotas.usage(join(folder, 'volumes/v'))).toMatchObject({ limitBytes: 16 * MB });
  const removal = await volumes.beginRemove('v');
  await removal.undo();
  expect(quotas.limits).toEqual([16 * MB]);
  await (await volumes.beginRemove('v')).finish();
  expect(quotas.limits).toEqual([]);
});

test('a size that cannot be kept leaves nothing behind', async () => {
  await volumes.create('held');
  writeFileSync(join(volumes.mountpoint('held'), 'file'), 'here before');
  await expect(volumes.create('held', MB)).rejects.toMatchObject({
    code: 'conflict',
    message: `volume held: ${volumes.mountpoint('held')} holds files, which would not count in its size`,
  });
  await volumes.undoCreate('held');
  expect(readdirSync(volumes.mountpoint('held'))).toEqual(['file']);
  await volumes.create('v', MB);
  await volumes.undoCreate('v');
  expect(quotas.limits).toEqual([]);
  quotas.reason = 'none here';
  await expect(volumes.create('v', MB)).rejects.toMatchObject({ code: 'invalid_argument' });
  await volumes.undoCreate('v');
  expect(existsSync(join(folder, 'volumes/v'))).toBe(false);
});

test('a start puts a limit that was lost back, and leaves one that was changed', async () => {
  await volumes.create('v', MB);
  const home = join(folder, 'volumes/v');
  await quotas.forget(home);
  await volumes.limit('v', MB);
  expect(quotas.limits).toEqual([MB]);
  await quotas.limit([home], 2 * MB);
  await volumes.limit('v', MB);
  expect(quotas.limits).toEqual([2 * MB]);
});

test('limits of volumes without a row, half made or half removed, go at a start', async () => {
  await volumes.create('stray', MB);
  await volumes.create('removed', MB);
  await volumes.beginRemove('removed');
  await volumes.restore(new Set(), new Set());
  expect(quotas.limits).toEqual([]);
  expect(readdirSync(join(folder, 'volumes')).filter((name) => !name.startsWith('.'))).toEqual([]);
});

test('a volume that is too small for what the image has there is not filled half', async () => {
  mkdirSync(join(image, 'data'));
  writeFileSync(join(image, 'data/file'), Buffer.alloc(2 * MB));
  await volumes.create('v', MB);
  await expect(volumes.populate('v', image, '/data')).rejects.toMatchObject({
    code: 'resource_exhausted',
    message: expect.stringMatching(
      /^populate volume v from \/data: \d+ bytes do not fit into 1048576: disk quota exceeded$/,
    ),
  });
  expect(readdirSync(join(folder, 'volumes/v'))).toEqual(['_data']);
  expect(readdirSync(volumes.mountpoint('v'))).toEqual([]);
});

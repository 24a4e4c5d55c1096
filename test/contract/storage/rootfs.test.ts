import { silentLogger } from '../../../daemon/base/logger.ts';
import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Archives } from '../../../storage/files/archives.ts';
import { RootfsDirectories } from '../../../storage/layers/rootfs.ts';
import { FakeQuotas } from '../../support/fakes/fake-quotas.ts';
import { needs } from '../../support/needs.ts';

const ID = 'c'.repeat(64);

needs('root')('rootfs directories', () => {
  test('create, size, list and remove', async () => {
    const dataRoot = mkdtempSync(join(tmpdir(), 'berth-rootfs-'));
    try {
      await using archives = new Archives();
      const diff = (id: number): string => join(dataRoot, 'layers', String(id), 'diff');
      mkdirSync(diff(1), { recursive: true });
      mkdirSync(diff(2), { recursive: true, mode: 0o700 });
      const quotas = new FakeQuotas();
      const rootfs = new RootfsDirectories({
        dataRoot,
        layers: {
          diff,
          initLayer: (id) => join(dataRoot, 'layers', String(id), 'init'),
          temporary: () => join(dataRoot, 'layers', 'tmp-1'),
          sizeBytes: (id) => id * 10,
        },
        quotas,
        sizes: (directories) => archives.sizes(directories),
        removeTree: (path) => archives.remove(path),
        log: silentLogger,
      });
      expect(await rootfs.list()).toEqual([]);
      await rootfs.create(ID, [1, 2]);
      await rootfs.create(ID, [1, 2]);
      const layout = rootfs.layout(ID, [1, 2]);
      expect(layout.lowers).toEqual([diff(2), diff(1)]);
      expect(statSync(layout.upper).mode & 0o7777).toBe(0o755);
      mkdirSync(join(layout.upper, 'a/b'), { recursive: true });
      writeFileSync(join(layout.upper, 'a/b/file'), Buffer.alloc(1000));
      linkSync(join(layout.upper, 'a/b/file'), join(layout.upper, 'again'));
      // A link out of the tree counts as itself: the length of its target.
      symlinkSync('/etc', join(layout.upper, 'out'));
      expect(await rootfs.sizeRw(ID)).toBe(1000 + '/etc'.length);
      expect(rootfs.sizeRootFs([1, 2])).toBe(30);
      expect(await rootfs.list()).toEqual([ID]);
      await expect(rootfs.limit(ID, 1 << 20)).rejects.toMatchObject({ code: 'conflict' });
      rmSync(layout.upper, { recursive: true });
      await rootfs.create(ID, [1, 2]);
      quotas.reason = 'no quotas here';
      await expect(rootfs.limit(ID, 1 << 20)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: 'no quotas here',
      });
      quotas.reason = undefined;
      await rootfs.limit(ID, 1 << 20);
      await rootfs.limit(ID, 2 << 20);
      expect(quotas.limits).toEqual([1 << 20]);
      await rootfs.remove(ID);
      await rootfs.remove(ID);
      expect(quotas.limits).toEqual([]);
      expect(await rootfs.list()).toEqual([]);
    } finally {
      rmSync(dataRoot, { recursive: true, force: true });
    }
  });
});

import {
  openSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mount } from '../../../daemon/base/kernel/files/mounts.ts';
import type { OverlayLayout } from '../../../runtime/mounts/kernel-mounts.ts';
import { KernelMounts } from '../../../runtime/mounts/kernel-mounts.ts';
import { needs } from '../../support/needs.ts';

needs('root', 'overlay')('KernelMounts', () => {
  let mounts: KernelMounts;
  let base: string;

  beforeEach(async () => {
    base = mkdtempSync(join(tmpdir(), 'bth-mounts-'));
    mounts = new KernelMounts({ viewPoint: join(base, 'view'), temporary: join(base, 'tmp') });
    await mounts.prepare();
  });
  afterEach(async () => {
    for (const path of mounts.below(base)) {
      await mounts.unmount(path);
    }
    rmSync(base, { recursive: true, force: true });
  });

  const makeLayout = (layers: number, name = 'layer'): OverlayLayout => {
    const lowers = Array.from({ length: layers }, (_unused, index) => join(base, `${name}${index}`));
    const layout = {
      lowers,
      upper: join(base, 'upper'),
      work: join(base, 'work'),
      merged: join(base, 'merged'),
    };
    for (const [index, path] of lowers.entries()) {
      mkdirSync(path);
      writeFileSync(join(path, 'top'), String(index));
      writeFileSync(join(path, `file${index}`), '');
    }
    for (const path of [layout.upper, layout.work, layout.merged]) {
      mkdirSync(path);
    }
    return layout;
  };

  test('overlay shows the first lower on top and writes to upper', async () => {
    const layout = makeLayout(3);
    await mounts.overlay(layout, { readonly: false });
    expect(readFileSync(join(layout.merged, 'top'), 'utf8')).toBe('0');
    writeFileSync(join(layout.merged, 'new'), 'x');
    expect(existsSync(join(layout.upper, 'new'))).toBe(true);
    expect(mounts.below(base)).toEqual([layout.merged]);
    await mounts.unmount(layout.merged);
    expect(mounts.below(base)).toEqual([]);
    await mounts.unmount(layout.merged);
    await mounts.unmount(join(base, 'nowhere'));
  });

  test('tmpfs has its size and mode, and shows through a bind, also when it is unmounted itself', async () => {
    const [memory, other] = [join(base, 'memory'), join(base, 'other')];
    mkdirSync(memory);
    mkdirSync(other);
    await mounts.tmpfs(memory, { source: 'shm', sizeBytes: 8192, mode: 0o1777 });
    await mounts.bind(memory, other);
    expect([mountLine(memory), statSync(memory).mode & 0o7777]).toEqual([
      expect.stringMatching(/^shm \S+ tmpfs rw,nosuid,nodev,noexec,relatime,size=8k\b/),
      0o1777,
    ]);
    expect(mountLine(other)).toBe(mountLine(memory)?.replace(memory, other));
    writeFileSync(join(memory, 'file'), 'x');
    await mounts.unmount(memory);
    expect(readFileSync(join(other, 'file'), 'utf8')).toBe('x');
    await expect(mounts.bind(join(base, 'nowhere'), memory)).rejects.toThrow(`mount bind at ${memory}: `);
  });

  test.each([
    ['128 layers with long names', 128, 'a-rather-long-name-of-a-layer-as-some-data-root-may-have-it-'],
    ['names with separators', 2, 'a:b,c\\d "e" '],
  ])('overlay takes %s', async (_title, layers, name) => {
    const layout = makeLayout(layers, name);
    await mounts.overlay(layout, { readonly: false });
    expect(existsSync(join(layout.merged, `file${layers - 1}`))).toBe(true);
  });

  test('overlay refuses more layers than the kernel takes, and names what is missing', async () => {
    const layout = makeLayout(1);
    const lowers = Array.from({ length: 129 }, () => layout.lowers[0] ?? '');
    await expect(mounts.overlay({ ...layout, lowers }, { readonly: false })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    rmSync(layout.upper, { recursive: true });
    await expect(mounts.overlay(layout, { readonly: false })).rejects.toThrow(
      `mount overlay at ${layout.merged}: mount ${layout.merged}: ENOENT`,
    );
  });

  test('overlay can be mounted read-only', async () => {
    const layout = makeLayout(1);
    await mounts.overlay(layout, { readonly: true });
    expect(() => writeFileSync(join(layout.merged, 'new'), 'x')).toThrow('EROFS');
  });

  test('unmount takes off stacked mounts, and a busy one lazily', async () => {
    const layout = makeLayout(1);
    await mounts.overlay(layout, { readonly: false });
    mount({ source: 'tmpfs', target: layout.merged, type: 'tmpfs', flags: 0, data: 'size=64k' });
    const fd = openSync(join(layout.merged, 'held'), 'w');
    await mounts.unmount(layout.merged);
    closeSync(fd);
    expect(mounts.below(base)).toEqual([]);
  });
});

/** The line of /proc/mounts for this mount point. */
function mountLine(path: string): string | undefined {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .find((text) => text.includes(` ${path} `));
}

import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setAttribute } from '../../../daemon/base/kernel/files/attributes.ts';
import { openRoot } from '../../../daemon/base/kernel/files/safepath.ts';
import { KernelMounts } from '../../../runtime/mounts/kernel-mounts.ts';
import { Archives } from '../../../storage/files/archives.ts';
import { needs } from '../../support/needs.ts';
import { untar } from '../../support/images/untar.ts';

needs('root', 'overlay')('the layer of what a container changed', () => {
  test('holds what is new or different, and a whiteout for what is gone', async () => {
    const base = mkdtempSync(join(tmpdir(), 'bth-diff-'));
    const mounts = new KernelMounts({ viewPoint: join(base, 'view'), temporary: join(base, 'tmp') });
    await mounts.prepare();
    await using archives = new Archives();
    const folder = (name: string): string => join(base, name);
    const [lower, upper, work, merged] = [folder('lower'), folder('upper'), folder('work'), folder('merged')];
    const layout = { lowers: [lower], upper, work, merged };
    [lower, upper, work, merged].forEach((path) => mkdirSync(path));
    mkdirSync(join(lower, 'd/sub'), { recursive: true });
    ['d/gone', 'd/changed', 'd/same', 'd/sub/inner'].forEach((name) =>
      writeFileSync(join(lower, name), name),
    );
    await mounts.overlay(layout, { readonly: false });
    try {
      const at = (name: string): string => join(merged, name);
      rmSync(at('d/gone'));
      writeFileSync(at('d/changed'), 'other');
      chmodSync(at('d/changed'), 0o4700);
      rmSync(at('d/sub'), { recursive: true });
      mkdirSync(at('d/sub'));
      symlinkSync('changed', at('d/link'));
      writeFileSync(at('new'), 'n');
      renameSync(at('new'), at('d/moved'));
      using own = openRoot(upper);
      using below = openRoot(lower);
      using seen = mounts.hiddenCopy(merged);
      const file = openSync(folder('tar'), 'wx');
      await archives.layer({ upper: own.fd, merged: seen.fd, lower: below.fd }, file);
      closeSync(file);
      const members = untar(readFileSync(folder('tar')));
      expect(
        members.map(({ name, mode, content }) => `${name} ${mode.toString(8)} ${content.toString()}`),
      ).toEqual([
        'd/ 755 ',
        'd/changed 4700 other',
        'd/.wh.gone 0 ',
        'd/link 777 ',
        'd/moved 644 n',
        'd/sub/ 755 ',
        'd/sub/.wh.inner 0 ',
      ]);
    } finally {
      await mounts.unmount(merged);
      rmSync(base, { recursive: true, force: true });
    }
  });

  test('holds what nothing but attributes or contents tell from what was there', async () => {
    const base = mkdtempSync(join(tmpdir(), 'bth-diff-'));
    const mounts = new KernelMounts({ viewPoint: join(base, 'view'), temporary: join(base, 'tmp') });
    await mounts.prepare();
    await using archives = new Archives();
    const folder = (name: string): string => join(base, name);
    const [lower, upper, work, merged] = [folder('lower'), folder('upper'), folder('work'), folder('merged')];
    [lower, upper, work, merged].forEach((path) => mkdirSync(path));
    mkdirSync(join(lower, 'marked'));
    ['capable', 'lost', 'rewritten', 'touched'].forEach((name) => writeFileSync(join(lower, name), 'one'));
    marked(join(lower, 'lost'));
    // As builds leave it that can be repeated.
    ['lost', 'rewritten', 'touched'].forEach((name) => utimesSync(join(lower, name), 1, 1));
    await mounts.overlay({ lowers: [lower], upper, work, merged }, { readonly: false });
    try {
      const at = (name: string): string => join(merged, name);
      // `setcap` and `setfacl` leave the time of a file as it was.
      ['capable', 'marked'].forEach((name) => marked(at(name)));
      rmSync(at('lost'));
      writeFileSync(at('lost'), 'one');
      writeFileSync(at('rewritten'), 'two');
      writeFileSync(at('touched'), 'one');
      ['lost', 'rewritten', 'touched'].forEach((name) => utimesSync(at(name), 1, 1));
      using own = openRoot(upper);
      using below = openRoot(lower);
      using seen = mounts.hiddenCopy(merged);
      const file = openSync(folder('tar'), 'wx');
      await archives.layer({ upper: own.fd, merged: seen.fd, lower: below.fd }, file);
      closeSync(file);
      const members = untar(readFileSync(folder('tar')));
      expect(
        members.map(({ name, attributes, content }) => [name, attributes.size, content.toString()]),
      ).toEqual([
        ['capable', 1, 'one'],
        ['lost', 0, 'one'],
        ['marked/', 1, ''],
        ['rewritten', 0, 'two'],
      ]);
    } finally {
      await mounts.unmount(merged);
      rmSync(base, { recursive: true, force: true });
    }
  });
});

function marked(path: string): void {
  const fd = openSync(path, 'r');
  setAttribute(fd, 'user.mark', Buffer.from('yes'));
  closeSync(fd);
}

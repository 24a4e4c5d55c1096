import {
  chownSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readBuilt } from '../../support/images/built.ts';
import { describeEngine } from '../../support/engine/engine.ts';
import { imageTar, busyboxEntries } from '../../support/images/images.ts';
import { tar } from '../../support/images/tar.ts';
import { packed, treeOf, unpacked } from '../../support/images/trees.ts';

const TAR = { 'Content-Type': 'application/x-tar' };
const TIME = 1_600_000_000;

/** Trees packed and unpacked by tar-fs: what the engine reads and writes is understood by a program of others. */
describeEngine('foreign tars', (engine) => {
  let folder = '';
  let tree = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-test-tree-'));
    tree = join(folder, 'tree');
    mkdirSync(join(tree, 'sub/empty'), { recursive: true });
    const file = (name: string, content: string, mode: number, uid: number): void => {
      const full = join(tree, name);
      writeFileSync(full, content, { mode });
      chownSync(full, uid, uid + 1);
      utimesSync(full, TIME, TIME);
    };
    file('plain', 'plain\n', 0o644, 0);
    file('sub/owned', 'owned\n', 0o750, 1000);
    file('sub/ünïcode and space', 'ü\n', 0o600, 0);
    file(`sub/${'long'.repeat(50)}`, 'long\n', 0o444, 5);
    file('sub/large', 'x'.repeat(300_000), 0o644, 0);
    symlinkSync('../plain', join(tree, 'sub/link'));
    lutimesSync(join(tree, 'sub/link'), TIME, TIME);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const fresh = (name: string): string => {
    const made = join(folder, name);
    mkdirSync(made);
    return made;
  };

  test('cp: a tree packed by tar-fs goes in and comes back the same, unpacked by tar-fs', async () => {
    const id = await engine.create(['true'], {}, { WorkingDir: '/d' });
    const body = tar([{ name: 'd/' }]);
    await engine.http.request('PUT', `/containers/${id}/archive?path=/`, { body, headers: TAR });
    const put = await engine.http.request('PUT', `/containers/${id}/archive?path=/d`, {
      body: await packed(tree),
      headers: TAR,
    });
    expect([put.status, put.text]).toEqual([200, '']);
    const got = await engine.http.request('GET', `/containers/${id}/archive?path=/d`);
    const back = fresh('back');
    await unpacked(got.bytes, back);
    expect(treeOf(join(back, 'd'))).toEqual(treeOf(tree));
  });

  test('load: a layer packed by tar-fs is the tree again, in what export writes', async () => {
    const layers = [tar(busyboxEntries()), await packed(tree)];
    const body = imageTar(layers, { tags: ['foreign:1'], config: { Cmd: ['true'] } });
    const loaded = await engine.http.request('POST', '/images/load?quiet=1', { body, headers: TAR });
    expect(loaded.text).toContain('foreign:1');
    const id = await engine.create(['true'], {}, { Image: 'foreign:1' });
    const { bytes } = await engine.http.request('GET', `/containers/${id}/export`);
    const back = fresh('exported');
    // The engine's own link to /proc/mounts, as dockerd's.
    await unpacked(bytes, back, 'etc/mtab');
    const found = treeOf(back);
    const expected = treeOf(tree);
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, found[name]]))).toEqual(expected);
    await engine.remove(id);
    await engine.http.ok('DELETE', '/images/foreign:1');
  });

  test('build: a context packed by tar-fs is copied as it is', async () => {
    const context = fresh('context');
    await unpacked(await packed(tree), join(context, 'tree'));
    writeFileSync(join(context, 'Dockerfile'), 'FROM busybox\nCOPY tree /copied/\n');
    const answer = await engine.http.request('POST', '/build?t=foreign:2', {
      body: await packed(context),
      headers: TAR,
    });
    const { error, id: image } = readBuilt(answer);
    expect([error, image]).toEqual(['', expect.stringMatching(/^sha256:/)]);
    const id = await engine.create(['true'], {}, { Image: 'foreign:2' });
    const { bytes } = await engine.http.request('GET', `/containers/${id}/archive?path=/copied`);
    const back = fresh('copied');
    await unpacked(bytes, back);
    // COPY makes everything root's (Dockerfile reference, COPY).
    const ofRoot = Object.entries(treeOf(tree)).map(([name, text]) => [
      name,
      text.replace(/ \d+:\d+/, ' 0:0'),
    ]);
    expect(treeOf(join(back, 'copied'))).toEqual(Object.fromEntries(ofRoot));
    await engine.remove(id);
    await engine.http.ok('DELETE', '/images/foreign:2');
  });
});

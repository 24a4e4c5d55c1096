import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../daemon/base/limits.ts';
import { removeTree } from '../../../storage/files/remove/remove-tree.ts';
import { removeSmallTree } from '../../../storage/files/remove/small-tree.ts';

let folder: string;
let tree: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-remove-'));
  tree = join(folder, 'tree');
  mkdirSync(tree);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ['removeTree', (path: string) => new Promise((resolve) => resolve(removeTree(path)))],
  ['removeSmallTree', removeSmallTree],
])('%s: takes files, links, FIFOs and directories, and nothing that links lead to', async (_name, remove) => {
  const kept = join(folder, 'kept');
  mkdirSync(kept);
  writeFileSync(join(kept, 'file'), 'x');
  mkdirSync(join(tree, 'a/b'), { recursive: true });
  writeFileSync(join(tree, 'a/file'), 'x', { mode: 0 });
  symlinkSync(kept, join(tree, 'a/out'));
  symlinkSync('nowhere', join(tree, 'dangling'));
  execFileSync('mkfifo', [join(tree, 'fifo')]);
  writeFileSync(
    Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0xfe])]),
    'a name that is no text',
  );
  await remove(tree);
  expect(readdirSync(folder)).toEqual(['kept']);
  expect(readdirSync(kept)).toEqual(['file']);
});

test.each([
  ['removeTree', (path: string) => new Promise((resolve) => resolve(removeTree(path)))],
  ['removeSmallTree', removeSmallTree],
])('%s: what is not there is no error, a file is removed', async (_name, remove) => {
  await remove(join(folder, 'nothing'));
  await remove(join(folder, 'nothing/at/all'));
  writeFileSync(join(folder, 'file'), 'x');
  await remove(join(folder, 'file'));
  expect(readdirSync(folder)).toEqual(['tree']);
});

test.each([
  ['removeTree', (path: string) => new Promise((resolve) => resolve(removeTree(path)))],
  ['removeSmallTree', async (path: string) => (await removeSmallTree(path)) || removeTree(path)],
])('%s: files and directories that were made immutable go too', async (_name, remove) => {
  mkdirSync(join(tree, 'fixed/below'), { recursive: true });
  mkdirSync(join(tree, 'append'));
  for (const name of ['file', 'fixed/file', 'append/log']) {
    writeFileSync(join(tree, name), 'x');
  }
  symlinkSync('file', join(tree, 'fixed/link'));
  execFileSync('mkfifo', [join(tree, 'fixed/fifo')]);
  execFileSync('chattr', ['+a', join(tree, 'append/log')]);
  execFileSync('chattr', ['+i', join(tree, 'file'), join(tree, 'fixed/file'), join(tree, 'fixed'), tree]);
  await remove(tree);
  expect(readdirSync(folder)).toEqual([]);
});

test('removeTree: what stays is an error that names it and says why', async () => {
  mkdirSync(join(tree, 'mounted'));
  execFileSync('mount', ['-t', 'tmpfs', 'berth-test', join(tree, 'mounted')]);
  writeFileSync(join(tree, 'mounted/file'), '');
  try {
    expect(() => removeTree(tree)).toThrow(/mounted.*EBUSY: resource busy or locked/);
    expect(await removeSmallTree(tree)).toBe(false);
    // It may be a volume's.
    expect(readdirSync(join(tree, 'mounted'))).toEqual(['file']);
  } finally {
    execFileSync('umount', [join(tree, 'mounted')]);
  }
});

test('removeTree: directories nested deeper than a path may be long', () => {
  // Made by a process that goes along: a path of this depth cannot be named.
  const walk = `
    const fs = require('node:fs');
    for (let depth = 0; depth < 1500; depth += 1) {
      fs.mkdirSync('keep');
      fs.writeFileSync('file', '');
      fs.mkdirSync('deep'.repeat(15));
      process.chdir('deep'.repeat(15));
    }`;
  execFileSync(process.execPath, ['-e', walk], { cwd: tree });
  removeTree(tree);
  expect(existsSync(tree)).toBe(false);
});

test('removeSmallTree: leaves a tree of many files to others', async () => {
  mkdirSync(join(tree, 'a/b'), { recursive: true });
  for (let count = 0; count < limits.smallTreeEntries - 1; count += 1) {
    writeFileSync(join(tree, `a/b/file${count}`), '');
  }
  expect(await removeSmallTree(tree)).toBe(false);
  rmSync(join(tree, 'a/b/file0'));
  expect(await removeSmallTree(tree)).toBe(true);
  expect(readdirSync(folder)).toEqual([]);
});

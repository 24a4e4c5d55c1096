import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  mkdirAllInRoot,
  openInRoot,
  OPEN_PATH,
  readFileInRoot,
  statInRoot,
} from '../../../../daemon/base/kernel/files/safepath.ts';

let base: string;
let root: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'berth-safepath-'));
  root = join(base, 'root');
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(join(root, 'etc/passwd'), 'inside');
  // The canary: what every hostile name below tries to reach.
  mkdirSync(join(base, 'etc'));
  writeFileSync(join(base, 'etc/passwd'), 'OUTSIDE');
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

test.each([
  ['a plain name', 'etc/passwd', undefined],
  ['an absolute name', '/etc/passwd', undefined],
  ['dots above the root', '../../../../etc/passwd', undefined],
  ['an absolute link', 'link', '/etc/passwd'],
  ['a relative link out', 'link', '../../../etc/passwd'],
  ['a link to a directory out', 'link/passwd', '../etc'],
])('readFileInRoot finds the file inside for %s', (_title, path, target) => {
  if (target !== undefined) {
    symlinkSync(target, join(root, 'link'));
  }
  expect(readFileInRoot(root, path, 100)?.toString()).toBe('inside');
});

test.each([
  ['a missing file', 'etc/shadow', () => undefined],
  ['a file used as a directory', 'etc/passwd/x', () => undefined],
  ['a dangling link', 'link', (at: string) => symlinkSync('/nowhere', at)],
])('readFileInRoot answers undefined for %s', (_title, path, prepare) => {
  prepare(join(root, 'link'));
  expect(readFileInRoot(root, path, 100)).toBeUndefined();
});

test.each([
  ['a FIFO', (at: string) => execFileSync('mkfifo', [at]), 'read it: not a regular file'],
  ['a directory', (at: string) => mkdirSync(at), 'read it: not a regular file'],
  [
    'a big file',
    (at: string) => writeFileSync(at, 'x'.repeat(101)),
    'read it: 101 bytes are more than the limit of 100',
  ],
  ['a link circle', (at: string) => symlinkSync('it', at), 'read it: too many links'],
  ['a magic link', (at: string) => symlinkSync('/self/root', at), undefined],
])('readFileInRoot refuses %s without touching it', (_title, prepare, message) => {
  prepare(join(root, 'it'));
  const read = (): Buffer | undefined => readFileInRoot(root, 'it', 100);
  if (message === undefined) {
    expect(read()).toBeUndefined();
  } else {
    expect(read).toThrow(message);
  }
});

test('openInRoot refuses magic links of proc and names with NUL', () => {
  expect(() => openInRoot('/proc', 'self/root/etc', OPEN_PATH)).toThrow('ELOOP');
  expect(() => openInRoot(root, 'etc/passwd\0.txt', OPEN_PATH)).toThrow('a path cannot hold a NUL character');
});

test('openInRoot leaves no descriptor behind when its scope ends', () => {
  const before = readdirSync('/proc/self/fd').length;
  for (let round = 0; round < 20; round += 1) {
    using file = openInRoot(root, 'etc/passwd', OPEN_PATH);
    expect(statSync(file.path).size).toBe(6);
    statInRoot(root, 'nothing');
  }
  expect(readdirSync('/proc/self/fd')).toHaveLength(before);
});

test('statInRoot follows the last link only when asked to', () => {
  symlinkSync('/etc/passwd', join(root, 'link'));
  expect(statInRoot(root, 'link')?.size).toBe(6);
  expect(statInRoot(root, 'link', { followLast: false })?.isSymbolicLink()).toBe(true);
  expect(statInRoot(root, 'none')).toBeUndefined();
});

test.each([
  ['plain parents', 'a/b/c', undefined, 'a/b/c'],
  ['dots above the root', '../../a/../b', undefined, 'b'],
  ['an absolute dangling link', 'link/c', '/run/deep', 'run/deep/c'],
  ['a relative dangling link out', 'link/c', '../../../new', 'new/c'],
  ['a link to a directory outside', 'link/c', '../etc', 'etc/c'],
])('mkdirAllInRoot makes directories inside the root for %s', (_title, path, target, made) => {
  if (target !== undefined) {
    symlinkSync(target, join(root, 'link'));
  }
  mkdirAllInRoot(root, path, { mode: 0o2770, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 });
  expect(statSync(join(root, made)).mode & 0o7777).toBe(0o2770);
  expect(readdirSync(base).toSorted()).toEqual(['etc', 'root']);
  expect(readdirSync(join(base, 'etc'))).toEqual(['passwd']);
  mkdirAllInRoot(root, path);
});

test.each([
  ['a file in the way', '/etc/passwd/x', 'ENOTDIR'],
  ['links in circles', '/one/x', 'ELOOP'],
])('mkdirAllInRoot refuses %s', (_title, path, code) => {
  symlinkSync('two', join(root, 'one'));
  symlinkSync('one', join(root, 'two'));
  expect(() => mkdirAllInRoot(root, path)).toThrow(code);
});

import { closeSync, constants, mkdirSync, mkdtempSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createFileAt,
  makeDirectoryAt,
  openBytesBeneath,
  openPathAt,
  renameAt,
  writeAll,
} from '../../../daemon/base/kernel/files/files.ts';
import { ADDED, changesOf } from '../../../storage/files/changes.ts';
import { runArchiveJob, type JobControl } from '../../../storage/files/jobs.ts';
import { locate } from '../../../storage/files/path-handle.ts';
import { removeAt } from '../../../storage/files/remove/remove-at.ts';
import { removeTree } from '../../../storage/files/remove/remove-tree.ts';
import { treeBytes } from '../../../storage/files/tree-bytes.ts';
import type { FilesView } from '../../../storage/files/view.ts';
import { tar } from '../../support/images/tar.ts';
import { untar } from '../../support/images/untar.ts';

const DEPTH = 4000;
/** Directories that have a file, so that a walk has something to do on its way back. */
const WITH_FILE = [4000, 3999, 2500, 100, 1];
/** Of the walk; each of the three trees of a comparison has as many. */
const DESCRIPTORS_MAX = 80;
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;
const OPTIONS = { followLast: false, bytesMax: 2 * DEPTH + 100 };

let folder: string;
let root: number;
let view: FilesView;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-deep-'));
  mkdirSync(join(folder, 'root'));
  root = openSync(join(folder, 'root'), DIRECTORY);
  view = { root, isReadOnly: false, mounts: [], empty: root };
});

afterEach(() => {
  closeSync(root);
  removeTree(folder);
});

function deep(depth: number): string {
  return 'd/'.repeat(depth);
}

function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

/** Without the engine's code for trees. */
function makeTree(): void {
  let here = openPathAt(root, '.');
  for (let depth = 1; depth <= DEPTH; depth += 1) {
    makeDirectoryAt(here, 'd', 0o755);
    const next = openPathAt(here, 'd');
    closeSync(here);
    here = next;
    if (WITH_FILE.includes(depth)) {
      const file = createFileAt(here, 'side');
      writeAll(file, Buffer.from(`at ${depth}`));
      closeSync(file);
    }
  }
  closeSync(here);
}

function control(hooks: { emit?: (chunk: Buffer) => void; look?: () => void }): JobControl {
  return {
    isCanceled: () => {
      hooks.look?.();
      return false;
    },
    emit: (chunk) => {
      hooks.emit?.(chunk);
      return true;
    },
  };
}

function tarOf(emit: (chunk: Buffer) => void): void {
  runArchiveJob({ kind: 'tar', request: { view, handle: { fd: root, path: '' } } }, control({ emit }));
}

test('R37: a tree of 4,000 levels becomes a tar, its changes are told, it is counted and removed', () => {
  makeTree();
  const before = descriptors();
  let most = 0;
  const chunks: Buffer[] = [];
  tarOf((chunk) => {
    most = Math.max(most, descriptors() - before);
    chunks.push(chunk);
  });
  expect(most).toBeLessThan(DESCRIPTORS_MAX);
  const members = untar(Buffer.concat(chunks));
  expect(members.map(({ name, content }) => [name, content.toString()])).toEqual([
    ...Array.from({ length: DEPTH }, (_, index) => [deep(index + 1), '']),
    ...WITH_FILE.map((depth) => [`${deep(depth)}side`, `at ${depth}`]),
  ]);

  const added = changesOf({ upper: root, merged: root, lower: undefined });
  expect(added).toHaveLength(DEPTH + WITH_FILE.length);
  expect(new Set(added.map(({ kind }) => kind))).toEqual(new Set([ADDED]));
  expect(changesOf({ upper: root, merged: root, lower: root })).toEqual([]);
  expect(treeBytes(join(folder, 'root'))).toBe(WITH_FILE.map((depth) => `at ${depth}`).join('').length);
  removeAt(root, 'd');
  expect(readdirSync(join(folder, 'root'))).toEqual([]);
  expect(descriptors()).toBe(before);
});

test('R37: a tar of 4,000 levels is unpacked, its directories made when they are missing', () => {
  const bytes = tar([
    { name: `${deep(DEPTH)}file`, content: 'at the bottom' },
    // Now those in between become what the tar says, and files come on the way back.
    ...Array.from({ length: DEPTH }, (_, index) => ({
      name: deep(index + 1),
      mode: 0o700 + (index % 8),
      mtime: 1_000_000 + index,
    })),
    ...WITH_FILE.map((depth) => ({ name: `${deep(depth)}side`, content: `at ${depth}` })),
    { name: `${deep(DEPTH)}hard`, type: '1', linkName: 'd/side' },
  ]);
  writeFileSync(join(folder, 'tar'), bytes);
  const fd = openSync(join(folder, 'tar'), 'r');
  const before = descriptors();
  let most = 0;
  runArchiveJob(
    {
      kind: 'extract',
      request: { tar: { fd, size: bytes.length }, view, path: '/', keepsKinds: false, what: 'test' },
    },
    control({ look: () => (most = Math.max(most, descriptors() - before)) }),
  );
  closeSync(fd);
  expect(most).toBeLessThan(DESCRIPTORS_MAX);
  for (const depth of [1, 2, 1999, DEPTH]) {
    using place = locate(view, `/${deep(depth)}`.slice(0, -1), OPTIONS);
    const seconds = 1_000_000 + depth - 1;
    expect(place.status).toMatchObject({ mode: 0o700 + ((depth - 1) % 8), mtime: { seconds } });
  }
  for (const depth of WITH_FILE) {
    using place = locate(view, `/${deep(depth)}side`, OPTIONS);
    expect(place.status).toMatchObject({ size: `at ${depth}`.length, links: depth === 1 ? 2 : 1 });
  }
});

test('class 2: who moves a directory out while a walk is deep below it ends the walk', () => {
  makeTree();
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'outside/side'), 'not of the tree');
  const outside = openSync(join(folder, 'outside'), DIRECTORY);
  const chunks: Buffer[] = [];
  const walk = (): void =>
    tarOf((chunk) => {
      chunks.push(chunk);
      // Bytes grow with the square of the depth: this is below the 2,000th.
      if (chunks.length === 20) {
        const above = openBytesBeneath(root, deep(100).slice(0, -1), DIRECTORY);
        renameAt(above, 'd', outside, 'd');
        closeSync(above);
      }
    });
  const before = descriptors();
  expect(walk).toThrow(/moved/);
  expect(descriptors()).toBe(before);
  closeSync(outside);
  expect(chunks.length).toBeGreaterThan(20);
  expect(Buffer.concat(chunks).includes('not of the tree')).toBe(false);
});

import { createHash } from 'node:crypto';
import {
  constants,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
} from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getAttribute, listAttributes } from '../../../daemon/base/kernel/files/attributes.ts';
import type { ImageInspect } from '../../../api/types/image.ts';
import type { HttpClient } from '../engine/http.ts';

/** Everything below a folder: what each path is, by one line of type, mode, owner, time, links, attributes, content. */
export type FileTree = ReadonlyMap<string, string>;

/** What overlayfs notes for itself. */
const OF_OVERLAY = /^trusted\.overlay\./;
const TYPES = new Map<number, string>([
  [constants.S_IFREG, 'file'],
  [constants.S_IFDIR, 'directory'],
  [constants.S_IFLNK, 'link'],
  [constants.S_IFCHR, 'character'],
  [constants.S_IFBLK, 'block'],
  [constants.S_IFIFO, 'fifo'],
]);

/** Reads a folder. It is left out itself: few layers describe it, and each engine gives it a mode and a time. */
export function fileTree(root: string): FileTree {
  const tree = new Map<string, string>();
  const firstNames = new Map<bigint, string>();
  const visit = (folder: string): void => {
    for (const child of readdirSync(path.join(root, folder)).toSorted()) {
      const name = path.join(folder, child);
      const full = path.join(root, name);
      const status = lstatSync(full, { bigint: true });
      tree.set(name, describe(full, status, firstNames, name));
      if (status.isDirectory()) {
        visit(name);
      }
    }
  };
  visit('');
  return tree;
}

/** What differs, one line a path; few enough lines to read. */
export function treeDifferences(expected: FileTree, found: FileTree): string[] {
  const names = new Set([...expected.keys(), ...found.keys()]);
  return [...names]
    .filter((name) => expected.get(name) !== found.get(name))
    .map((name) => `${name}: ${expected.get(name) ?? 'nothing'} -> ${found.get(name) ?? 'nothing'}`)
    .slice(0, 20);
}

/** The files of an image as its engine has them on disk, mounted for a moment. */
export async function imageTree(http: HttpClient, name: string): Promise<FileTree> {
  const { GraphDriver } = await http.ok<ImageInspect>('GET', `/images/${name}/json`);
  const { UpperDir = '', LowerDir } = GraphDriver.Data ?? {};
  if (LowerDir === undefined) {
    return fileTree(UpperDir);
  }
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-tree-'));
  try {
    const options = `lowerdir=${UpperDir}:${LowerDir}`;
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', options, folder]);
    try {
      return fileTree(folder);
    } finally {
      execFileSync('umount', [folder]);
    }
  } finally {
    rmdirSync(folder);
  }
}

function describe(full: string, status: BigIntStats, firstNames: Map<bigint, string>, name: string): string {
  const type = TYPES.get(Number(status.mode) & constants.S_IFMT) ?? 'socket';
  const owner = `${status.uid}:${status.gid}`;
  const words = [type, (status.mode & 0o7777n).toString(8), owner, `${status.mtimeNs}`];
  if (type === 'link') {
    words.push(readlinkSync(full));
  }
  if (type === 'file') {
    words.push(createHash('sha256').update(readFileSync(full)).digest('hex'));
    const first = firstNames.get(status.ino);
    if (first === undefined) {
      firstNames.set(status.ino, name);
    } else {
      words.push(`same as ${first}`);
    }
  }
  if (type === 'character' || type === 'block') {
    words.push(`device ${status.rdev}`);
  }
  for (const attribute of listAttributes(full)
    .filter((other) => !OF_OVERLAY.test(other))
    .toSorted()) {
    words.push(`${attribute}=${getAttribute(full, attribute).toString('base64')}`);
  }
  return words.join(' ');
}

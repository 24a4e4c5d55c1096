import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errnoOf } from '../../daemon/base/errors.ts';
import * as files from '../../daemon/base/kernel/files.ts';
import { attributePolicy, OPAQUE_ATTRIBUTE } from './attributes.ts';

/** Directories looked after before others get their turn. */
const DIRECTORIES_PER_TURN = 100;
const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Gives directories that a layer only implies (`etc/motd` without `etc/`) the owner, mode, time and attributes they
 * have in the layers below. Overlayfs shows the topmost directory's own, so without this a layer made by a tool that
 * leaves directories out would turn a 1777 /tmp into 0755.
 * `lowers` are the diff directories below, topmost first; `implied` are byte strings, `''` is the root.
 */
export async function inheritDirectories(
  diff: string,
  lowers: readonly string[],
  implied: readonly string[],
): Promise<void> {
  if (lowers.length === 0 || implied.length === 0) {
    return;
  }
  const root = openSync(diff, DIRECTORY_FLAGS);
  const below = lowers.map((path) => openSync(path, DIRECTORY_FLAGS));
  try {
    for (const [index, path] of implied.entries()) {
      inheritDirectory(root, below, path);
      if (index % DIRECTORIES_PER_TURN === DIRECTORIES_PER_TURN - 1) {
        await nextTurn();
      }
    }
  } finally {
    for (const fd of [root, ...below]) {
      closeSync(fd);
    }
  }
}

function inheritDirectory(root: number, lowers: readonly number[], path: string): void {
  for (const lower of lowers) {
    const source = openDirectory(lower, path);
    if (source === 'other') {
      return;
    }
    if (source !== 'nothing') {
      try {
        copyMetadata(source, root, path);
      } finally {
        closeSync(source);
      }
      return;
    }
    if (isOpaqueAbove(lower, path)) {
      return;
    }
  }
}

/** `other`: a file, link or whiteout stands there or above, so nothing further down shows. */
function openDirectory(root: number, path: string): number | 'nothing' | 'other' {
  try {
    return files.openBytesInRoot(root, path, DIRECTORY_FLAGS);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') {
      return 'nothing';
    }
    if (code === 'ENOTDIR' || code === 'ELOOP') {
      return 'other';
    }
    throw error;
  }
}

function isOpaqueAbove(root: number, path: string): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    const fd = openDirectory(root, path.slice(0, end));
    if (typeof fd === 'string') {
      continue;
    }
    try {
      if (files.listAttributes(`/proc/self/fd/${fd}/.`).includes(OPAQUE_ATTRIBUTE)) {
        return true;
      }
    } finally {
      closeSync(fd);
    }
  }
  return false;
}

function copyMetadata(source: number, root: number, path: string): void {
  const target = files.openBytesInRoot(root, path, DIRECTORY_FLAGS);
  try {
    const stat = fstatSync(source, { bigint: true });
    files.changeOwner(target, Number(stat.uid), Number(stat.gid));
    files.changeMode(target, Number(stat.mode & 0o7777n));
    for (const name of files.listAttributes(`/proc/self/fd/${source}/.`)) {
      if (attributePolicy(name) === 'apply') {
        files.setAttribute(target, name, files.getAttribute(`/proc/self/fd/${source}/.`, name));
      }
    }
    files.changeTime(target, {
      seconds: Number(stat.mtimeNs / 1_000_000_000n),
      nanoseconds: Number(stat.mtimeNs % 1_000_000_000n),
    });
  } finally {
    closeSync(target);
  }
}

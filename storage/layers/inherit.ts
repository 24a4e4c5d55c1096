import { closeSync, constants, openSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { errnoOf } from '../../daemon/base/errors.ts';
import { getAttribute, listAttributes, setAttribute } from '../../daemon/base/kernel/files/attributes.ts';
import { fileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import * as files from '../../daemon/base/kernel/files/files.ts';
import { attributePolicy, OPAQUE_ATTRIBUTE } from './attributes.ts';
import { splitName } from '../tar/names.ts';

/** Bytes of paths looked up before others get their turn: what a lookup costs grows with its depth. */
const BYTES_PER_TURN = 16 * 1024;
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
  const layers = below.map((fd) => new LowerLayer(fd));
  let bytes = 0;
  try {
    for (const path of implied) {
      inheritDirectory(root, layers, path);
      bytes += path.length + 100;
      if (bytes > BYTES_PER_TURN) {
        bytes = 0;
        await nextTurn();
      }
    }
  } finally {
    for (const fd of [root, ...below]) {
      closeSync(fd);
    }
  }
}

function inheritDirectory(root: number, layers: readonly LowerLayer[], path: string): void {
  for (const layer of layers) {
    const found = layer.at(path);
    if (found === 'directory' || found === 'opaque') {
      const source = layer.open(path);
      try {
        copyMetadata(source, root, path);
      } finally {
        closeSync(source);
      }
    }
    if (found !== 'nothing') {
      return;
    }
  }
}

/** `opaque` = a directory below which nothing of further layers shows; `hides` = the same where there is none. */
type Found = 'directory' | 'opaque' | 'nothing' | 'hides';

/** One layer below. Each directory is looked at once, however many implied ones lie in it. */
class LowerLayer {
  readonly #root: number;
  readonly #known = new Map<string, Found>([['', 'directory']]);

  constructor(root: number) {
    this.#root = root;
  }

  at(path: string): Found {
    const unknown: string[] = [];
    let there = path;
    let found = this.#known.get(there);
    while (found === undefined) {
      unknown.push(there);
      there = splitName(there).parent;
      found = this.#known.get(there);
    }
    for (const next of unknown.toReversed()) {
      found = found === 'directory' || found === 'opaque' ? this.#look(next, found) : found;
      this.#known.set(next, found);
    }
    return found;
  }

  /** A directory that `at` has found. */
  open(path: string): number {
    return files.openBytesInRoot(this.#root, path, DIRECTORY_FLAGS);
  }

  #look(path: string, above: 'directory' | 'opaque'): Found {
    let fd: number;
    try {
      fd = this.open(path);
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'ENOENT') {
        return above === 'opaque' ? 'hides' : 'nothing';
      }
      if (code === 'ENOTDIR' || code === 'ELOOP') {
        // A file, a link or a whiteout.
        return 'hides';
      }
      throw error;
    }
    try {
      const isMarked = listAttributes(`/proc/self/fd/${fd}/.`).includes(OPAQUE_ATTRIBUTE);
      return above === 'opaque' || isMarked ? 'opaque' : 'directory';
    } finally {
      closeSync(fd);
    }
  }
}

function copyMetadata(source: number, root: number, path: string): void {
  const target = files.openBytesInRoot(root, path, DIRECTORY_FLAGS);
  try {
    const { uid, gid, mode, mtime } = fileStatus(source);
    files.changeOwner(target, uid, gid);
    files.changeMode(target, mode);
    for (const name of listAttributes(`/proc/self/fd/${source}/.`)) {
      if (attributePolicy(name) === 'apply') {
        setAttribute(target, name, getAttribute(`/proc/self/fd/${source}/.`, name));
      }
    }
    files.changeTime(target, mtime);
  } finally {
    closeSync(target);
  }
}

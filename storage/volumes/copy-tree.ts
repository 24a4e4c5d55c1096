import { constants, fstatSync, openSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import {
  makeDirectoryAt,
  makeLinkAt,
  openBytesInRoot,
  openPathAt,
} from '../../daemon/base/kernel/files/files.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import { copyMetadata, copyRegularFile, copySpecialFile, copySymlink, openEntry } from './copy-entry.ts';
import type { EntryPair } from './copy-entry.ts';

const O_CLOEXEC = 0o2000000;
const { O_RDONLY, O_DIRECTORY } = constants;

/**
 * Copies everything below directory `from` into the empty directory `to` (both descriptors): contents, owners, modes,
 * times, extended attributes, links (hard ones within the tree stay links), FIFOs and devices. Walks by descriptors:
 * no name is looked up twice, none is followed. Gives way to others every few milliseconds.
 */
export async function copyTree(from: number, to: number): Promise<void> {
  await new TreeCopy(to).copyChildren(from, to, '');
}

class TreeCopy {
  readonly #root: number;
  /** Where files with several names were copied to, by device and inode of the source. */
  readonly #copies = new Map<string, string>();
  #sliceEndsAtMs = performance.now() + limits.copyUpSliceMs;

  constructor(root: number) {
    this.#root = root;
  }

  async copyChildren(from: number, to: number, parentPath: string, depth = 1): Promise<void> {
    if (depth > limits.copyUpDepthMax) {
      throw invalidArgument(
        `${parentPath.slice(0, 200)}...: directories nest deeper than ${limits.copyUpDepthMax}`,
      );
    }
    // Bytes, because names need not be UTF-8.
    const names = await readdir(`/proc/self/fd/${from}`, { encoding: 'buffer' });
    for (const bytes of names) {
      const name = bytes.toString('latin1');
      failpoint('volume.populate.entry');
      await this.#copyEntry({ from, to, name }, `${parentPath}/${name}`, depth);
      await this.#yieldToOthers();
    }
  }

  async #copyEntry(pair: EntryPair, path: string, depth: number): Promise<void> {
    using entry = openEntry(pair);
    const stats = fstatSync(entry.fd, { bigint: true });
    if (stats.isDirectory()) {
      using source = reopenDirectory(entry);
      using target = makeDirectory(pair);
      // Only two descriptors stay open per level.
      entry[Symbol.dispose]();
      await this.copyChildren(source.fd, target.fd, path, depth + 1);
      // Last, because filling a directory changes its times.
      copyMetadata(pair, target.fd, stats);
    } else if (stats.nlink === 1n || !this.#linkToCopy(pair, path, stats)) {
      await copyLeaf(pair, entry, stats);
    }
  }

  /** A further name of a file already copied becomes a link to that copy. */
  #linkToCopy(pair: EntryPair, path: string, stats: BigIntStats): boolean {
    const key = `${stats.dev}:${stats.ino}`;
    const copied = this.#copies.get(key);
    if (copied === undefined) {
      this.#copies.set(key, path);
      return false;
    }
    const cut = copied.lastIndexOf('/');
    using parent = new OpenFile(openBytesInRoot(this.#root, copied.slice(0, cut), O_RDONLY | O_DIRECTORY));
    makeLinkAt(parent.fd, copied.slice(cut + 1), pair.to, pair.name);
    return true;
  }

  async #yieldToOthers(): Promise<void> {
    if (performance.now() > this.#sliceEndsAtMs) {
      await setImmediate();
      this.#sliceEndsAtMs = performance.now() + limits.copyUpSliceMs;
    }
  }
}

function makeDirectory({ to, name }: EntryPair): OpenFile {
  makeDirectoryAt(to, name, 0o700);
  using made = new OpenFile(openPathAt(to, name));
  return reopenDirectory(made);
}

async function copyLeaf(pair: EntryPair, entry: OpenFile, stats: BigIntStats): Promise<void> {
  if (stats.isFile()) {
    await copyRegularFile(pair, entry, stats);
  } else if (stats.isSymbolicLink()) {
    copySymlink(pair, stats);
  } else {
    copySpecialFile(pair, stats);
  }
}

/** A descriptor that can be listed, of the very directory that was looked at. */
function reopenDirectory(directory: OpenFile): OpenFile {
  return new OpenFile(openSync(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

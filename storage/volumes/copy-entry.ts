import { chmodSync, constants, readlinkSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { errnoOf } from '../../daemon/base/errors.ts';
import {
  changeMode,
  changeOwner,
  changeOwnerAt,
  changeTime,
  changeTimeAt,
  createFileAt,
  makeNodeAt,
  makeSymlinkAt,
  openPathAt,
} from '../../daemon/base/kernel/files/files.ts';
import {
  getAttribute,
  listAttributes,
  setAttribute,
  setAttributeAt,
} from '../../daemon/base/kernel/files/attributes.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';

/** A name in two directories, source and target, given by descriptors. Names are byte strings (latin1). */
export interface EntryPair {
  from: number;
  to: number;
  name: string;
}

const MODE_BITS = 0o7777n;
const TYPE_BITS = 0o170000n;
/** What overlayfs notes on its layers means nothing in a volume, and a container could be fooled by it. */
const SKIPPED_ATTRIBUTES = /^(trusted|user)\.overlay\./;

/** The source entry itself, to look at; nothing is opened yet, a link is a link. */
export function openEntry({ from, name }: EntryPair): OpenFile {
  return new OpenFile(openPathAt(from, name));
}

/** Copies contents and everything about a regular file. The target must not exist. */
export async function copyRegularFile(pair: EntryPair, entry: OpenFile, stats: BigIntStats): Promise<void> {
  using target = new OpenFile(createFileAt(pair.to, pair.name));
  if (stats.size > 0n) {
    await copyFile(entry.path, target.path, constants.COPYFILE_FICLONE);
  }
  copyMetadata(pair, target.fd, stats);
}

/** Owner, attributes, mode and times, in the order in which one does not undo another. */
export function copyMetadata(pair: EntryPair, target: number, stats: BigIntStats): void {
  // Changing the owner clears set-user-id bits and file capabilities, so it comes first.
  changeOwner(target, Number(stats.uid), Number(stats.gid));
  for (const [attribute, value] of attributesOf(pair)) {
    ignoreUnsupported(() => setAttribute(target, attribute, value));
  }
  changeMode(target, Number(stats.mode & MODE_BITS));
  changeTime(target, timeOf(stats));
}

/** Copies a symbolic link as it is, wherever it points. */
export function copySymlink(pair: EntryPair, stats: BigIntStats): void {
  const target = readlinkSync(entryPath(pair.from, pair.name), 'buffer').toString('latin1');
  makeSymlinkAt(pair.to, pair.name, target);
  finishUnopened(pair, stats);
}

/** Copies a FIFO, a socket or a device. */
export function copySpecialFile(pair: EntryPair, stats: BigIntStats): void {
  const device = stats.rdev;
  makeNodeAt(pair.to, pair.name, {
    type: Number(stats.mode & TYPE_BITS),
    mode: 0,
    // As major(3) and minor(3).
    major: Number(((device >> 32n) & 0xfffff000n) | ((device >> 8n) & 0xfffn)),
    minor: Number(((device >> 12n) & 0xffffff00n) | (device & 0xffn)),
  });
  finishUnopened(pair, stats);
  // mknod is subject to the umask, and there is no chmod that stops at a link: through the very file then.
  using made = new OpenFile(openPathAt(pair.to, pair.name));
  chmodSync(made.path, Number(stats.mode & MODE_BITS));
}

/** A path that only goes through a descriptor of ours and one name. The bytes of the name stay as they are. */
export function entryPath(directory: number, name: string): Buffer {
  return Buffer.from(`/proc/self/fd/${directory}/${name}`, 'latin1');
}

function finishUnopened(pair: EntryPair, stats: BigIntStats): void {
  changeOwnerAt(pair.to, pair.name, Number(stats.uid), Number(stats.gid));
  for (const [attribute, value] of attributesOf(pair)) {
    ignoreUnsupported(() => setAttributeAt(pair.to, pair.name, attribute, value));
  }
  changeTimeAt(pair.to, pair.name, timeOf(stats));
}

function attributesOf({ from, name }: EntryPair): [string, Buffer][] {
  const path = `/proc/self/fd/${from}/${name}`;
  let attributes: string[] = [];
  ignoreUnsupported(() => {
    attributes = listAttributes(path);
  });
  return attributes
    .filter((attribute) => !SKIPPED_ATTRIBUTES.test(attribute))
    .map((attribute) => [attribute, getAttribute(path, attribute)]);
}

// A file system without extended attributes, or a security module that is not there, has nothing to keep.
function ignoreUnsupported(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (errnoOf(error) !== 'ENOTSUP' && errnoOf(error) !== 'EOPNOTSUPP') {
      throw error;
    }
  }
}

function timeOf(stats: BigIntStats): { seconds: number; nanoseconds: number } {
  const nanoseconds = ((stats.mtimeNs % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return {
    seconds: Number((stats.mtimeNs - nanoseconds) / 1_000_000_000n),
    nanoseconds: Number(nanoseconds),
  };
}

import { constants, fstatSync } from 'node:fs';
import { readdir, rename } from 'node:fs/promises';
import { errnoOf } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { makeDirectoryAt, syncFileSystem } from '../../daemon/base/kernel/files/files.ts';
import { openInRoot } from '../../daemon/base/kernel/files/safepath.ts';
import type { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { copyMetadata } from './copy-entry.ts';
import { copyTree } from './copy-tree.ts';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Copies directory `source` into the empty directory `staging`: `entries`, and an empty `directory` that carries owner,
 * mode, times and attributes of the source itself.
 */
export async function fillStaging(source: OpenFile, staging: OpenFile): Promise<void> {
  for (const name of ['entries', 'directory']) {
    makeDirectoryAt(staging.fd, name, 0o700);
  }
  using entries = openChild(staging, 'entries');
  using directory = openChild(staging, 'directory');
  failpoint('volume.populate.copy');
  await copyTree(source.fd, entries.fd);
  copyDirectoryMetadata(source, directory);
  // What was moved into a volume is never copied again: after a power cut no file in it may lack its content.
  failpoint('volume.populate.sync');
  await syncFileSystem(staging.fd);
}

/** Moves what `fillStaging` made into `target`, of the same file system. Again is as good as once. */
export async function moveFromStaging(staging: OpenFile, target: OpenFile): Promise<void> {
  using entries = openChild(staging, 'entries');
  for (const bytes of await readdir(entries.path, { encoding: 'buffer' })) {
    await moveUnlessTaken(childPath(entries, bytes), childPath(target, bytes));
    failpoint('volume.populate.moved');
  }
  // From a directory of its own: moving the entries changed the times of the one they were in.
  using directory = openChild(staging, 'directory');
  copyDirectoryMetadata(directory, target);
}

/** A directory in another one; a link is none. Throws KernelError. */
export function openChild(parent: OpenFile, name: string): OpenFile {
  return openInRoot(parent.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/** Owner, mode, times and attributes. */
export function copyDirectoryMetadata(source: OpenFile, target: OpenFile): void {
  const stats = fstatSync(source.fd, { bigint: true });
  copyMetadata({ from: source.fd, to: target.fd, name: '.' }, target.fd, stats);
}

/** Goes through a descriptor of ours and one name, the bytes of which stay as they are. */
function childPath(directory: OpenFile, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${directory.path}/`), name]);
}

/** A container that shares the volume may write while it is filled: what it wrote stays. */
async function moveUnlessTaken(from: Buffer, to: Buffer): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    const code = errnoOf(error);
    if (code !== 'EEXIST' && code !== 'ENOTEMPTY' && code !== 'ENOTDIR' && code !== 'EISDIR') {
      throw error;
    }
  }
}

/** @path-hostile */
import { conflict, errnoOf, invalidArgument } from '../../daemon/base/errors.ts';
import {
  fileStatus,
  isMountPointAt,
  listNames,
  openPathAt,
  removeDirectoryAt,
  reopen,
  unlinkAt,
} from '../../daemon/base/kernel/files.ts';
import { OpenFile } from '../../daemon/base/kernel/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import { showName } from '../layers/tar/names.ts';

/**
 * Removes a name of a directory with everything below it, one descriptor after another and links never followed: who
 * swaps a directory for a link meanwhile loses the link.
 * Throws ENOENT when there is nothing, conflict for a mount point there or below. Synchronous, for a worker.
 */
export function removeAt(parent: number, name: string, depth = 1): void {
  if (depth > limits.archiveDepthMax) {
    throw invalidArgument(`directories nest deeper than ${limits.archiveDepthMax}`);
  }
  if (isMountPointAt(parent, name)) {
    throw conflict(`${showName(name)}: device or resource busy (something is mounted there)`);
  }
  try {
    unlinkAt(parent, name);
    return;
  } catch (error) {
    if (errnoOf(error) !== 'EISDIR' && errnoOf(error) !== 'EPERM') {
      throw error;
    }
  }
  using named = new OpenFile(openPathAt(parent, name));
  if (fileStatus(named.fd).isDirectory) {
    using directory = reopen(named.fd, 'directory');
    for (const child of listNames(directory.fd)) {
      removeUnlessGone(directory.fd, child, depth + 1);
    }
  }
  removeDirectoryAt(parent, name);
}

function removeUnlessGone(parent: number, name: string, depth: number): void {
  try {
    removeAt(parent, name, depth);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') {
      throw error;
    }
  }
}

/** @path-hostile */
import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { errnoOf, ifThere } from '../../../daemon/base/errors.ts';
import {
  isMountPointAt,
  listNames,
  openPathAt,
  removeDirectoryAt,
  renameAt,
  reopen,
  unlinkAt,
} from '../../../daemon/base/kernel/files/files.ts';
import { allowDeletion } from '../../../daemon/base/kernel/files/inode-flags.ts';
import { fileStatus } from '../../../daemon/base/kernel/files/file-status.ts';
import { OpenFile, openRoot } from '../../../daemon/base/kernel/files/safepath.ts';

/** Each level holds two descriptors; what lies deeper is moved up first. */
const DEPTH_MAX = 64;

/**
 * Deletes a file, or a directory with all below it, of any depth; nothing there is no error. Links are never followed,
 * also when a process makes them meanwhile, and nothing that is mounted in it is deleted. Synchronous, for a worker.
 * Throws KernelError (EBUSY for a mount point).
 */
export function removeTree(path: string): void {
  using parent = openParent(path);
  if (parent !== undefined) {
    removeTreeAt(parent.fd, nameOf(path));
  }
}

/** The same for a name of an open directory. */
export function removeTreeAt(parent: number, name: string): void {
  new Removal().remove(parent, name);
}

class Removal {
  #movedUpCount = 0;
  /** Nothing in the tree has such a name. */
  readonly #mark = randomUUID();

  remove(parent: number, name: string): void {
    if (!unlink(parent, name)) {
      this.#directory(parent, name, { top: undefined, depth: 1 });
    }
  }

  #directory(parent: number, name: string, where: { top: number | undefined; depth: number }): void {
    if (isMountPoint(parent, name)) {
      // What is mounted there is not this tree's: a volume, or the root of a container. This says so.
      removeDirectoryAt(parent, name);
    }
    using directory = openDirectory(parent, name);
    if (directory === undefined) {
      return;
    }
    const top = where.top ?? directory.fd;
    if (where.depth === DEPTH_MAX) {
      this.#moveUp(directory.fd, top);
    } else {
      for (const child of listNames(directory.fd)) {
        if (!unlink(directory.fd, child)) {
          this.#directory(directory.fd, child, { top, depth: where.depth + 1 });
        }
      }
    }
    if (where.top === undefined) {
      this.#movedUp(directory.fd);
    }
    allowed(parent, name, () => ifThere(() => removeDirectoryAt(parent, name)));
  }

  /** The names of a directory deep below become names of the topmost. */
  #moveUp(directory: number, top: number): void {
    for (const child of listNames(directory)) {
      if (!unlink(directory, child)) {
        this.#movedUpCount += 1;
        const away = `${this.#mark}-${this.#movedUpCount}`;
        allowed(directory, child, () => ifThere(() => renameAt(directory, child, top, away)));
      }
    }
  }

  /** Directories that were moved up meanwhile, and what is moved up from there. */
  #movedUp(top: number): void {
    for (let left = listNames(top); left.length > 0; left = listNames(top)) {
      for (const child of left) {
        if (!unlink(top, child)) {
          this.#directory(top, child, { top, depth: 2 });
        }
      }
    }
  }
}

function openParent(path: string): OpenFile | undefined {
  return ifThere(() => openRoot(dirname(path)));
}

/** Ours, and so ASCII or UTF-8; as the byte string that file calls take. */
function nameOf(path: string): string {
  return Buffer.from(basename(path)).toString('latin1');
}

/** undefined when there is none by now. */
function openDirectory(parent: number, name: string): OpenFile | undefined {
  return ifThere(() => {
    using named = new OpenFile(openPathAt(parent, name));
    return fileStatus(named.fd).isDirectory ? reopen(named.fd, 'directory') : undefined;
  });
}

function isMountPoint(parent: number, name: string): boolean {
  return ifThere(() => isMountPointAt(parent, name)) ?? false;
}

function isDirectory(parent: number, name: string): boolean {
  using directory = openDirectory(parent, name);
  return directory !== undefined;
}

/** False for a directory. */
function unlink(parent: number, name: string): boolean {
  try {
    allowed(parent, name, () => ifThere(() => unlinkAt(parent, name)));
    return true;
  } catch (error) {
    // EPERM is what POSIX, and some file systems, say of a directory.
    if (errnoOf(error) === 'EISDIR' || (errnoOf(error) === 'EPERM' && isDirectory(parent, name))) {
      return false;
    }
    throw error;
  }
}

/** Once more where a flag forbade it (chattr(1), `i` and `a`), on the name itself or on the directory it is in. */
function allowed(parent: number, name: string, step: () => void): void {
  try {
    step();
  } catch (error) {
    if (errnoOf(error) !== 'EPERM' || !allow(parent, name)) {
      throw error;
    }
    step();
  }
}

function allow(parent: number, name: string): boolean {
  using directory = reopen(parent, 'directory');
  const wasDirectory = allowDeletion(directory.fd);
  using named = new OpenFile(openPathAt(parent, name));
  const { isDirectory: isFolder, isFile } = fileStatus(named.fd);
  if (!isFolder && !isFile) {
    // Devices, links and the like have no such flags.
    return wasDirectory;
  }
  using opened = reopen(named.fd, isFolder ? 'directory' : 'file');
  return allowDeletion(opened.fd) || wasDirectory;
}

import { closeSync, constants } from 'node:fs';
import { errnoOf, ifThere, invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { makeDirectoryAt, openBytesInRoot } from '../../daemon/base/kernel/files.ts';
import { changeMode, changeOwner } from '../../daemon/base/kernel/files.ts';
import { showName, splitName } from '../tar/names.ts';

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * Directories of a layer under construction, opened once each and kept while they are in use. Every path is resolved
 * by the kernel inside the layer's root, so that a link of the layer cannot lead out of it.
 *
 * INVARIANT nothing else writes below the root meanwhile (it lies in a 0700 directory of ours), and code that replaces
 * a directory or link calls `forget`.
 */
export class DirectoryCache implements Disposable {
  readonly root: number;
  readonly #open = new Map<string, number>();
  readonly #implied: Set<string>;

  /** `implied` collects the paths of directories made only because something below them was wanted. */
  constructor(root: number, implied: Set<string>) {
    this.root = root;
    this.#implied = implied;
  }

  /**
   * Descriptor of a directory, made with its parents when missing. Valid until the next but one call. Throws ENOTDIR,
   * ELOOP; invalid_argument when a link to nowhere is in the way.
   */
  get(path: string): number {
    const missing: string[] = [];
    let there = path;
    let fd = this.#openIfThere(there);
    while (fd === undefined) {
      const { parent, name } = splitName(there);
      missing.push(name);
      there = parent;
      fd = this.#openIfThere(there);
    }
    // Not by recursion: its depth is not bounded.
    for (const name of missing.toReversed()) {
      there = there === '' ? name : `${there}/${name}`;
      fd = this.add(there, makeImplied(fd, name, there));
      this.#implied.add(there);
    }
    return fd;
  }

  /** As `get`, but undefined when the directory does not exist. */
  find(path: string): number | undefined {
    return ifThere(() => this.#openIfThere(path), ['ENOTDIR']);
  }

  /** Takes over a descriptor of this directory. */
  add(path: string, fd: number): number {
    const before = this.#open.get(path);
    if (before !== undefined) {
      closeSync(before);
      this.#open.delete(path);
    }
    this.#open.set(path, fd);
    for (const [oldest, oldFd] of this.#open) {
      if (this.#open.size <= limits.openDirectoriesMax) {
        break;
      }
      closeSync(oldFd);
      this.#open.delete(oldest);
    }
    return fd;
  }

  /** Closes everything: paths may mean something else now. */
  forget(): void {
    for (const fd of this.#open.values()) {
      closeSync(fd);
    }
    this.#open.clear();
  }

  [Symbol.dispose](): void {
    this.forget();
  }

  #openIfThere(path: string): number | undefined {
    if (path === '') {
      return this.root;
    }
    const known = this.#open.get(path);
    if (known !== undefined) {
      // Moved to the end: the first one in the map is the one longest unused.
      this.#open.delete(path);
      this.#open.set(path, known);
      return known;
    }
    return ifThere(() => this.add(path, openBytesInRoot(this.root, path, DIRECTORY_FLAGS)));
  }
}

/** Makes and opens a directory that only what lies in it asks for. */
function makeImplied(parent: number, name: string, path: string): number {
  try {
    makeDirectoryAt(parent, name, 0o755);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') {
      throw invalidArgument(`entry ${showName(path)}: a link to nowhere that others lie below`, {
        cause: error,
      });
    }
    throw error;
  }
  const fd = openBytesInRoot(parent, name, DIRECTORY_FLAGS | constants.O_NOFOLLOW);
  changeOwner(fd, 0, 0);
  changeMode(fd, 0o755);
  return fd;
}

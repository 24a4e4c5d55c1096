import { closeSync, constants } from 'node:fs';
import { errnoOf } from '../../daemon/base/errors.ts';
import { makeDirectoryAt, openBytesInRoot } from '../../daemon/base/kernel/files.ts';
import { changeMode, changeOwner } from '../../daemon/base/kernel/files.ts';
import { splitName } from './tar/names.ts';

/** Descriptors kept open: a tar lists a directory's files one after another, so few are ever wanted at once. */
const OPEN_MAX = 64;
const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * Directories of a layer under construction, opened once each and kept while they are in use. Every path is resolved
 * by the kernel inside the layer's root, so that a link of the layer cannot lead out of it.
 *
 * INVARIANT nobody else writes below the root meanwhile (it lies in a 0700 directory of ours), and whoever replaces a
 * directory or link calls `forget`.
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

  /** Descriptor of a directory, made with its parents when missing. Valid until the next but one call. */
  get(path: string): number {
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
    return this.add(path, this.#openOrMake(path));
  }

  /** As `get`, but undefined when the directory does not exist. */
  find(path: string): number | undefined {
    if (path === '' || this.#open.has(path)) {
      return this.get(path);
    }
    try {
      return this.add(path, openBytesInRoot(this.root, path, DIRECTORY_FLAGS));
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') {
        return undefined;
      }
      throw error;
    }
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
      if (this.#open.size <= OPEN_MAX) {
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

  #openOrMake(path: string): number {
    try {
      return openBytesInRoot(this.root, path, DIRECTORY_FLAGS);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') {
        throw error;
      }
    }
    const { parent, name } = splitName(path);
    makeDirectoryAt(this.get(parent), name, 0o755);
    const fd = openBytesInRoot(this.root, path, DIRECTORY_FLAGS | constants.O_NOFOLLOW);
    changeOwner(fd, 0, 0);
    changeMode(fd, 0o755);
    this.#implied.add(path);
    return fd;
  }
}

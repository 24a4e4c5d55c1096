import { closeSync, constants } from 'node:fs';
import { errnoOf, ifThere, invalidArgument } from '../../daemon/base/errors.ts';
import { makeDirectoryAt, openBytesInRoot } from '../../daemon/base/kernel/files/files.ts';
import { changeMode, changeOwner } from '../../daemon/base/kernel/files/files.ts';
import { OpenDirectories } from '../files/open-directories.ts';
import { showName } from '../tar/names.ts';

const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY;

/**
 * Directories of a layer under construction. Every path is resolved by the kernel inside the layer's root, so that a
 * link of the layer cannot lead out of it.
 *
 * INVARIANT nothing else writes below the root meanwhile (it lies in a 0700 directory of ours), and code that replaces
 * a directory or link calls `forget`.
 */
export class DirectoryCache implements Disposable {
  readonly root: number;
  readonly #open = new OpenDirectories<number>(closeSync);
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
    return this.#open.withParents(
      path,
      (there) => this.#openIfThere(there),
      (parent, name, there) => {
        const made = makeImplied(parent, name, there);
        this.#implied.add(there);
        return made;
      },
    );
  }

  /** As `get`, but undefined when the directory does not exist. */
  find(path: string): number | undefined {
    return ifThere(() => this.#openIfThere(path), ['ENOTDIR']);
  }

  /** Takes over a descriptor of this directory. */
  add(path: string, fd: number): number {
    return this.#open.add(path, fd);
  }

  /** Closes everything: paths may mean something else now. */
  forget(): void {
    this.#open.forget('');
  }

  [Symbol.dispose](): void {
    this.forget();
  }

  #openIfThere(path: string): number | undefined {
    if (path === '') {
      return this.root;
    }
    return (
      this.#open.get(path) ?? ifThere(() => this.add(path, openBytesInRoot(this.root, path, DIRECTORY_FLAGS)))
    );
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

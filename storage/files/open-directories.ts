import { limits } from '../../daemon/base/limits.ts';
import { splitName } from '../tar/names.ts';

/**
 * Directories that are written to, by their paths (byte strings, `''` is the root), opened once each and kept while
 * they are in use: the one longest unused is closed when there are too many.
 */
export class OpenDirectories<T> implements Disposable {
  readonly #open = new Map<string, T>();
  readonly #close: (handle: T) => void;

  constructor(close: (handle: T) => void) {
    this.#close = close;
  }

  get(path: string): T | undefined {
    const known = this.#open.get(path);
    if (known !== undefined) {
      // Moved to the end: the first one in the map is the one longest unused.
      this.#open.delete(path);
      this.#open.set(path, known);
    }
    return known;
  }

  /** Takes a handle over, in place of one it may have of this path. Valid until the next but one call. */
  add(path: string, handle: T): T {
    this.#drop(path);
    this.#open.set(path, handle);
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= limits.openDirectoriesMax) {
        break;
      }
      this.#drop(oldest);
    }
    return handle;
  }

  /** What `find` has for a path; where it has nothing, what `make` makes of it and of the parents it lacks. */
  withParents(
    path: string,
    find: (path: string) => T | undefined,
    make: (parent: T, name: string, path: string) => T,
  ): T {
    const missing: string[] = [];
    let there = path;
    let handle = find(there);
    while (handle === undefined) {
      const { parent, name } = splitName(there);
      missing.push(name);
      there = parent;
      handle = find(there);
    }
    // Not by recursion: its depth is not bounded.
    for (const name of missing.toReversed()) {
      there = there === '' ? name : `${there}/${name}`;
      handle = this.add(there, make(handle, name, there));
    }
    return handle;
  }

  /** Closes a directory and those below it: their paths may mean something else now. */
  forget(path: string): void {
    for (const known of this.#open.keys()) {
      if (path === '' || known === path || known.startsWith(`${path}/`)) {
        this.#drop(known);
      }
    }
  }

  [Symbol.dispose](): void {
    this.forget('');
  }

  #drop(path: string): void {
    const handle = this.#open.get(path);
    if (handle !== undefined) {
      this.#open.delete(path);
      this.#close(handle);
    }
  }
}

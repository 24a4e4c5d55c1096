/** @path-hostile */
import { ifThere } from '../../../daemon/base/errors.ts';
import { readLink, reopen } from '../../../daemon/base/kernel/files/files.ts';
import type { FileStatus } from '../../../daemon/base/kernel/files/file-status.ts';
import { LastHandle } from '../../files/last-handle.ts';
import { childOf, type PathHandle } from '../../files/path-handle.ts';
import { attributesOf } from '../../files/tar-out.ts';
import type { FilesView } from '../../files/view.ts';
import { splitName } from '../../tar/names.ts';
import { readRange } from '../source.ts';

/**
 * What new files come over. Paths are byte strings, and no link in them is followed. Where a directory is not there
 * nothing below it is looked up.
 */
export class LowerFiles implements Disposable {
  readonly #view: FilesView;
  readonly #directories: LastHandle;
  readonly #isThere = new Map<string, boolean>([['', true]]);

  constructor(view: FilesView) {
    this.#view = view;
    this.#directories = new LastHandle(view);
  }

  /** Undefined: nothing is there, or what it lies in is no directory. */
  status(path: string): FileStatus | undefined {
    return this.#with(path, ({ status }) => status);
  }

  /** Of a file or directory that is there. */
  attributes(path: string): ReadonlyMap<string, Buffer> {
    return (
      this.#with(path, ({ fd, status }) => {
        using opened = reopen(fd, status.isDirectory ? 'directory' : 'file');
        return attributesOf(opened.fd);
      }) ?? new Map()
    );
  }

  /** Target of a symbolic link that is there. */
  target(path: string): string | undefined {
    return this.#with(path, ({ fd }) => readLink(fd));
  }

  /** Whether a file that is there, and has as many bytes, holds these. */
  holds(path: string, range: { fd: number; offset: number; size: number }): boolean {
    return (
      this.#with(path, ({ fd }) => {
        using file = reopen(fd, 'file');
        const there = readRange({ fd: file.fd, offset: 0, size: range.size }, path);
        for (const wanted of readRange(range, path)) {
          if (there.next().value?.equals(wanted) !== true) {
            return false;
          }
        }
        return true;
      }) ?? false
    );
  }

  [Symbol.dispose](): void {
    this.#directories[Symbol.dispose]();
  }

  #with<T>(path: string, look: (found: PathHandle) => T): T | undefined {
    const { parent, name } = splitName(path);
    if (!this.#isDirectory(parent)) {
      return undefined;
    }
    const found = ifThere(() => childOf(this.#view, this.#directories.at(parent), name));
    if (found === undefined) {
      return undefined;
    }
    using handle = found;
    return look(handle);
  }

  #isDirectory(path: string): boolean {
    // Not by recursion: its depth is not bounded.
    const unknown: string[] = [];
    let there = path;
    let found = this.#isThere.get(there);
    while (found === undefined) {
      unknown.push(there);
      there = splitName(there).parent;
      found = this.#isThere.get(there);
    }
    for (const next of unknown.toReversed()) {
      if (found) {
        const { parent, name } = splitName(next);
        const directory = ifThere(() => childOf(this.#view, this.#directories.at(parent), name));
        found = directory?.status.isDirectory ?? false;
        directory?.[Symbol.dispose]();
      }
      this.#isThere.set(next, found);
    }
    return found;
  }
}

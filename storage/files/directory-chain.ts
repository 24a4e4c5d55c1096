/** @path-hostile */
import { conflict } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { openPathAt } from '../../daemon/base/kernel/files/files.ts';
import { fileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';

/** What holds a directory open until it is disposed of. */
interface Open extends Disposable {
  readonly fd: number;
}

interface Level<T> {
  directory: T;
  isBorrowed: boolean;
  /** It has no `..` to come back by: something of a view's table lies in it. */
  isKept: boolean;
  /** Which directory it was, once it is closed. */
  closed?: string;
}

/**
 * Directories from where a walk began to where it is, however deep that is, with few of them open.
 *
 * One that was closed is opened again as `..` of the one below it, and only taken if it is the same directory: as long
 * as the lower one is not moved, the kernel keeps both in its memory, so that no other can have got that number. A move
 * elsewhere meanwhile ends the walk.
 */
export class DirectoryChain<T extends Open> implements Disposable {
  readonly #levels: Level<T>[] = [];
  readonly #again: (fd: number, before: T) => T;

  /** `again` makes of a descriptor what there was before; it takes the descriptor over. */
  constructor(again: (fd: number, before: T) => T) {
    this.#again = again;
  }

  /** How many directories it has. */
  get depth(): number {
    return this.#levels.length;
  }

  /** The deepest one, which is open. */
  get last(): T | undefined {
    return this.#levels.at(-1)?.directory;
  }

  /** Takes over a directory that lies in the last one. A borrowed one is mounted there, and its owner keeps it open. */
  enter(directory: T, { isBorrowed = false } = {}): void {
    const above = this.#levels.at(-1);
    if (above !== undefined && isBorrowed) {
      above.isKept = true;
    }
    this.#levels.push({ directory, isBorrowed, isKept: isBorrowed });
    const oldest = this.#levels.at(-1 - limits.openDirectoriesMax);
    if (oldest !== undefined && !oldest.isKept && oldest.closed === undefined) {
      oldest.closed = fileStatus(oldest.directory.fd).identity;
      oldest.directory[Symbol.dispose]();
    }
  }

  /** Back to the directory above. Throws conflict when the last one was moved out of it. */
  leave(): void {
    const left = this.#levels.pop();
    const above = this.#levels.at(-1);
    try {
      if (left !== undefined && above?.closed !== undefined) {
        above.directory = this.#again(parentOf(left.directory.fd, above.closed), above.directory);
        delete above.closed;
      }
    } finally {
      dispose(left);
    }
  }

  /** As `leave`, but the caller gets the last one and closes it. */
  take(): T | undefined {
    return this.#levels.pop()?.directory;
  }

  [Symbol.dispose](): void {
    this.#levels.splice(0).forEach(dispose);
  }
}

function parentOf(fd: number, identity: string): number {
  const parent = openPathAt(fd, '..');
  if (fileStatus(parent).identity === identity) {
    return parent;
  }
  new OpenFile(parent)[Symbol.dispose]();
  throw conflict('a directory was moved while what lies in it was read, try again');
}

function dispose(level: Level<Disposable> | undefined): void {
  if (level !== undefined && !level.isBorrowed && level.closed === undefined) {
    level.directory[Symbol.dispose]();
  }
}

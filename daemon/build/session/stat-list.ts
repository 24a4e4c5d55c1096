import type { SentStat } from '../../../api/types/build/session.ts';
import { refuseDeep } from '../../../storage/files/member-path.ts';
import { showName } from '../../../storage/tar/names.ts';
import { invalidArgument, type EngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

/**
 * What a list of a client's files must be: in order, parents before what they hold, and no path that leads anywhere
 * but below the root. Who depends on the order finds each file once.
 */
export class StatList {
  readonly #directories = new Set<string>(['']);
  #last = '';
  #count = 0;

  /** Throws invalid_argument for what does not belong at the end of the list. */
  add({ path, type }: SentStat): void {
    this.#count += 1;
    if (this.#count > limits.contextEntriesMax) {
      throw invalidArgument(`the client's files: more than ${limits.contextEntriesMax}`);
    }
    const parts = path.split('/');
    if (path.includes('\0') || parts.some((part) => part === '' || part === '.' || part === '..')) {
      throw wrong(path, 'is no clean path below the root');
    }
    refuseDeep(path, parts.length, limits.contextDepthMax);
    if (this.#last !== '' && comparePaths(this.#last, path) >= 0) {
      throw wrong(path, `does not come after ${showName(this.#last)}`);
    }
    if (!this.#directories.has(path.slice(0, Math.max(0, path.lastIndexOf('/'))))) {
      throw wrong(path, 'lies in something that is no directory of the list');
    }
    if (type === 'directory') {
      this.#directories.add(path);
    }
    this.#last = path;
  }
}

function wrong(path: string, why: string): EngineError {
  return invalidArgument(`the client's files: ${showName(path)} ${why}`);
}

/** By bytes, a slash before all others: what a directory holds follows it at once. Pure. */
function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const one = a.charCodeAt(index);
    const other = b.charCodeAt(index);
    if (one !== other) {
      return one === SLASH ? -1 : other === SLASH ? 1 : one - other;
    }
  }
  return a.length - b.length;
}

const SLASH = 0x2f;

/** @path-hostile */
import { limits } from '../../daemon/base/limits.ts';
import { splitName } from '../tar/names.ts';
import { childOf, locate, type PathHandle } from './path-handle.ts';
import type { FilesView } from './view.ts';

/** What was looked for last stays open: in a sorted list the next path is often the same, or lies right below it. */
export class LastHandle implements Disposable {
  readonly #view: FilesView;
  #last: PathHandle | undefined;
  #path: string | undefined;

  constructor(view: FilesView) {
    this.#view = view;
  }

  /** `path` is one without links, put together from names. Valid until the next call. Throws as `locate`. */
  at(path: string): PathHandle {
    if (this.#last !== undefined && this.#path === path) {
      return this.#last;
    }
    const { parent, name } = splitName(path);
    const next =
      this.#last !== undefined && this.#path === parent
        ? childOf(this.#view, this.#last, name)
        : locate(this.#view, path || '/', { followLast: false, bytesMax: limits.archivePathBytesMax * 2 });
    this[Symbol.dispose]();
    this.#last = next;
    this.#path = path;
    return next;
  }

  [Symbol.dispose](): void {
    this.#last?.[Symbol.dispose]();
    this.#last = undefined;
  }
}

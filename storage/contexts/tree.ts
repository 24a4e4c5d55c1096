import { matchDeep, outermost } from '../references/deep-match.ts';
import { matchPattern } from '../references/match.ts';
import { toText } from '../files/view.ts';
import type { ContextEntry } from './entries.ts';

/** As MAXSYMLINKS of the kernel. */
const LINKS_MAX = 40;

/** What a source of COPY or ADD leads to. */
export interface Found {
  /** Where it stands, links followed; `''` is the root. */
  path: string;
  /** Undefined: the root. */
  entry: ContextEntry | undefined;
}

/** The files of a context, as COPY and ADD look at them. Pure but for its map. */
export class ContextTree {
  readonly #entries: ReadonlyMap<string, ContextEntry>;
  readonly #children = new Map<string, string[]>();

  constructor(entries: ReadonlyMap<string, ContextEntry>) {
    this.#entries = entries;
    for (const path of entries.keys()) {
      const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      const siblings = this.#children.get(parent);
      if (siblings === undefined) {
        this.#children.set(parent, [path]);
      } else {
        siblings.push(path);
      }
    }
  }

  /**
   * Follows links, the last one unless told otherwise, as if the context were the whole file system. Undefined: nothing
   * is there.
   */
  find(path: string, followLast = true): Found | undefined {
    let pending = components(path);
    let here = '';
    let links = 0;
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      if (name === '..') {
        here = here.slice(0, Math.max(0, here.lastIndexOf('/')));
        continue;
      }
      if (here !== '' && this.#entries.get(here)?.member.type !== 'directory') {
        return undefined;
      }
      const next = here === '' ? name : `${here}/${name}`;
      const entry = this.#entries.get(next);
      if (entry === undefined) {
        return undefined;
      }
      if (entry.member.type === 'symlink' && (followLast || pending.length > 0)) {
        links += 1;
        if (links > LINKS_MAX) {
          return undefined;
        }
        const target = entry.member.linkName;
        here = target.startsWith('/') ? '' : here;
        pending = [...components(target), ...pending];
      } else {
        here = next;
      }
    }
    return { path: here, entry: this.#entries.get(here) };
  }

  /** Paths that a pattern with `*`, `?` or `[` means, in order. Throws invalid_argument for a malformed one. */
  matching(pattern: string, { isDeep = false }: { isDeep?: boolean } = {}): string[] {
    const parts = components(pattern);
    const paths = [...this.#entries.keys()].toSorted(byBytes);
    return isDeep
      ? outermost(paths.filter((path) => matchDeep(parts, toText(path).split('/'))))
      : paths.filter(
          (path) => path.split('/').length === parts.length && matchPattern(pattern, toText(path)),
        );
  }

  /** Everything below a directory, parents before children, in order. */
  *below(path: string): Generator<ContextEntry> {
    const pending = (this.#children.get(path) ?? []).toSorted(byBytes).toReversed();
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const entry = this.#entries.get(next);
      if (entry !== undefined) {
        yield entry;
        pending.push(...(this.#children.get(next) ?? []).toSorted(byBytes).toReversed());
      }
    }
  }
}

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** @path-hostile */
import { createHash } from 'node:crypto';
import { EngineError, ifThere } from '../../daemon/base/errors.ts';
import { listNames, reopen } from '../../daemon/base/kernel/files/files.ts';
import { TarChunks } from '../tar/chunks.ts';
import { isAnyDepth, outermost } from '../references/deep-match.ts';
import { matchPattern } from '../references/match.ts';
import { GONE, locate, type PathHandle } from './path-handle.ts';
import { TarOut } from './tar-out.ts';
import { toText, type FilesView } from './view.ts';

export interface SelectRequest {
  view: FilesView;
  /** Paths as byte strings; `*`, `?` and `[` in them match names. */
  patterns: readonly string[];
  /** A link at the end of a path counts as itself. */
  keepsLinks?: boolean;
  /** Mode and owner of a directory count in its digest, too. */
  isWhole?: boolean;
  /** `**` in a path is any number of directories. */
  isDeep?: boolean;
}

export interface Selected {
  /** Which of the patterns. */
  pattern: number;
  /** Absolute, as it was asked for: its links are not resolved. */
  path: string;
  isDirectory: boolean;
  /** Of names, types, modes, owners, links and contents, not of times. */
  digest: string;
}

const NO_TIME = { seconds: 0, nanoseconds: 0 };

/** What paths and patterns mean in a view, and digests of what is there. Nothing found is nothing answered. */
export function select(
  { view, patterns, keepsLinks = false, isWhole = false, isDeep = false }: SelectRequest,
  isCanceled: () => boolean,
): Selected[] {
  return patterns.flatMap((pattern, index) =>
    matching(view, pattern, { isDeep }).flatMap((path): Selected[] => {
      using found = locateIfThere(view, path, !keepsLinks);
      return found === undefined
        ? []
        : [
            {
              pattern: index,
              path,
              isDirectory: found.status.isDirectory,
              digest: digestOf(view, found, { isWhole, isCanceled }),
            },
          ];
    }),
  );
}

/** Paths that a pattern means, each part of it among the names of what the parts before it mean. */
export function matching(
  view: FilesView,
  pattern: string,
  { isDeep = false }: { isDeep?: boolean } = {},
): string[] {
  let paths = [''];
  const parts = pattern.split('/').filter((name) => name !== '' && name !== '.');
  for (const [index, part] of parts.entries()) {
    if (isDeep && isAnyDepth(parts, index)) {
      paths = [...new Set(paths.flatMap((path) => [path, ...directoriesBelow(view, path)]))];
    } else {
      paths = /[*?[\\]/.test(part)
        ? paths.flatMap((path) => namesIn(view, path, part).map((name) => `${path}/${name}`))
        : paths.map((path) => `${path}/${part}`);
    }
  }
  if (isDeep) {
    // Not all of them need be there, and what is not may not hide what lies in it.
    paths = outermost(paths.filter((path) => isThere(view, path || '/')));
  }
  return paths.map((path) => path || '/');
}

/** Links are not followed: they may lead in a circle. */
function directoriesBelow(view: FilesView, path: string): string[] {
  return namesIn(view, path, '*').flatMap((name) => {
    const below = `${path}/${name}`;
    using found = locateIfThere(view, below, false);
    return found?.status.isDirectory === true ? [below, ...directoriesBelow(view, below)] : [];
  });
}

function isThere(view: FilesView, path: string): boolean {
  using found = locateIfThere(view, path, false);
  return found !== undefined;
}

function namesIn(view: FilesView, path: string, pattern: string): string[] {
  using found = locateIfThere(view, path || '/');
  if (found?.status.isDirectory !== true) {
    return [];
  }
  using directory = reopen(found.fd, 'directory');
  return listNames(directory.fd)
    .filter((name) => matchPattern(toText(pattern), toText(name)))
    .toSorted((a, b) => (a < b ? -1 : 1));
}

function digestOf(
  view: FilesView,
  found: PathHandle,
  { isWhole, isCanceled }: { isWhole: boolean; isCanceled: () => boolean },
): string {
  const hash = createHash('sha256');
  const chunks = new TarChunks((chunk) => {
    if (isCanceled()) {
      throw new EngineError('canceled', 'reading files of an image: canceled');
    }
    hash.update(chunk);
  });
  const out = new TarOut(view, chunks, { mtime: NO_TIME });
  if (found.status.isDirectory && isWhole) {
    out.tree(found, 'directory');
  } else if (found.status.isDirectory) {
    out.contents(found, '');
  } else {
    out.single(found, 'file');
  }
  out.finish();
  return hash.digest('hex');
}

function locateIfThere(view: FilesView, path: string, followLast = true): PathHandle | undefined {
  return ifThere(() => locate(view, path, { followLast }), GONE);
}

import { read } from 'node:fs';
import { posix } from 'node:path';
import { promisify } from 'node:util';
import type { SentStat } from '../../../api/types/build/session.ts';
import { openReadRoot, ReadRoot, type RootMaker } from '../../../storage/contexts/roots.ts';
import type { ContextEntry } from '../../../storage/contexts/entries.ts';
import type { SentContext } from '../../../storage/contexts/sources.ts';
import { childOf, locate, type PathHandle } from '../../../storage/files/path-handle.ts';
import { toBytes, toText, type FilesView } from '../../../storage/files/view.ts';
import { matchPattern } from '../../../storage/references/match.ts';
import { errnoOf, invalidArgument, notFound } from '../../base/errors.ts';
import type { FileStatus } from '../../base/kernel/files/file-status.ts';
import { listNames, readLink, reopen } from '../../base/kernel/files/files.ts';
import type { OpenFile } from '../../base/kernel/files/safepath.ts';
import { limits } from '../../base/limits.ts';
import type { BuildLayers } from '../ports.ts';
import { BuildTree } from '../snapshots/tree.ts';
import { openTree } from './open-tree.ts';

const NANOS_PER_SECOND = 1_000_000_000n;
const readAt = promisify(read);

/** What is read: a result, `undefined` an empty one, or a directory as it is when it is opened. */
export type ReadFiles = BuildTree | undefined | { open(): Promise<OpenFile> };

/** Single files of results, for clients that are frontends. Links are followed inside the tree. Throws not_found. */
export class TreeReader {
  readonly #deps: RootMaker & { layers: BuildLayers };

  constructor(deps: RootMaker & { layers: BuildLayers }) {
    this.#deps = deps;
  }

  /** `length` 0 = all from `offset` on. Throws invalid_argument where that is too much, or no file. */
  async file(
    tree: ReadFiles,
    { path, offset, length }: { path: string; offset: number; length: number },
  ): Promise<Buffer> {
    if (offset < 0 || length < 0) {
      throw invalidArgument(`range of ${path}: ${offset} and ${length} must not be below 0`);
    }
    const context = sentOf(tree);
    if (context !== undefined) {
      const entry = findSent(context, path);
      if (entry?.member.type !== 'file') {
        throw noFile(path);
      }
      if (entry.member.sparse !== undefined) {
        throw invalidArgument(`${path} is stored as a sparse file`);
      }
      return await bytesOf(context.fd, path, {
        at: entry.member.offset,
        size: entry.member.size,
        offset,
        length,
      });
    }
    return await this.#found(tree, path, async (found) => {
      if (!found.status.isFile) {
        throw noFile(path);
      }
      using file = reopen(found.fd, 'file');
      return await bytesOf(file.fd, path, { at: 0, size: found.status.size, offset, length });
    });
  }

  /** `path` of what is answered is its name. */
  async stat(tree: ReadFiles, path: string): Promise<SentStat> {
    const name = posix.basename(posix.resolve('/', path));
    const context = sentOf(tree);
    if (context !== undefined) {
      return sentStat(name, findSent(context, path));
    }
    return await this.#found(tree, path, (found) => Promise.resolve(statOf(name, found)));
  }

  /** What is in a directory, in the order of names; `pattern`: only those that match it, `''` = all. */
  async list(tree: ReadFiles, { path, pattern }: { path: string; pattern: string }): Promise<SentStat[]> {
    const context = sentOf(tree);
    const all = context === undefined ? await this.#listLayers(tree, path) : listSent(context, path);
    return pattern === '' ? all : all.filter((stat) => matchPattern(pattern, toText(stat.path)));
  }

  async #listLayers(tree: ReadFiles, path: string): Promise<SentStat[]> {
    return await this.#found(tree, path, (found, view) => {
      if (!found.status.isDirectory) {
        throw invalidArgument(`${path}: no directory`);
      }
      using directory = reopen(found.fd, 'directory');
      const names = bounded(path, listNames(directory.fd)).toSorted();
      const all = names.map((name) => {
        using child = childOf(view, found, name);
        return statOf(name, child);
      });
      return Promise.resolve(all);
    });
  }

  async #found<T>(
    tree: ReadFiles,
    path: string,
    work: (found: PathHandle, view: FilesView) => Promise<T>,
  ): Promise<T> {
    await using root = isTree(tree)
      ? await openReadRoot(this.#deps, openTree(this.#deps, tree))
      : new ReadRoot(await tree.open());
    try {
      using found = locate(root.view, toBytes(posix.resolve('/', path)), { followLast: true });
      return await work(found, root.view);
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) {
        throw missing(path);
      }
      throw error;
    }
  }
}

function isTree(files: ReadFiles): files is BuildTree | undefined {
  return files === undefined || files instanceof BuildTree;
}

function sentOf(files: ReadFiles): SentContext | undefined {
  return files instanceof BuildTree && files.content.kind === 'files' ? files.content.context : undefined;
}

function findSent({ tree }: SentContext, path: string): ContextEntry | undefined {
  const found = tree.find(toBytes(path));
  if (found === undefined) {
    throw missing(path);
  }
  return found.entry;
}

function listSent(context: SentContext, path: string): SentStat[] {
  const entry = findSent(context, path);
  if (entry !== undefined && entry.member.type !== 'directory') {
    throw invalidArgument(`${path}: no directory`);
  }
  const parent = entry?.path ?? '';
  const inside = [...context.tree.below(parent)].filter((one) => {
    const rest = parent === '' ? one.path : one.path.slice(parent.length + 1);
    return !rest.includes('/');
  });
  return bounded(path, inside).map((one) => sentStat(posix.basename(one.path), one));
}

/** Without an entry it is the root. */
function sentStat(name: string, entry: ContextEntry | undefined): SentStat {
  const {
    type = 'directory',
    mode = 0o755,
    uid = 0,
    gid = 0,
    size = 0,
    mtime,
    linkName = '',
  } = entry?.member ?? {};
  return {
    path: name,
    type: type === 'symlink' || type === 'directory' || type === 'fifo' ? type : 'file',
    mode,
    uid,
    gid,
    size,
    mtime: nanos(mtime ?? { seconds: 0, nanoseconds: 0 }),
    linkName: type === 'symlink' ? linkName : '',
    attributes: new Map(),
  };
}

function statOf(name: string, { fd, status }: PathHandle): SentStat {
  const { mode, uid, gid, size, mtime } = status;
  const linkName = status.isSymbolicLink ? readLink(fd) : '';
  return {
    path: name,
    type: typeOf(status),
    mode,
    uid,
    gid,
    size: status.isFile ? size : 0,
    mtime: nanos(mtime),
    linkName,
    attributes: new Map(),
  };
}

function typeOf({ type }: FileStatus): SentStat['type'] {
  if (type === 'directory' || type === 'symlink' || type === 'fifo') {
    return type;
  }
  return type === 'character' || type === 'block' ? 'device' : 'file';
}

function nanos({ seconds, nanoseconds }: { seconds: number; nanoseconds: number }): bigint {
  return BigInt(seconds) * NANOS_PER_SECOND + BigInt(nanoseconds);
}

async function bytesOf(
  fd: number,
  path: string,
  { at, size, offset, length }: { at: number; size: number; offset: number; length: number },
): Promise<Buffer> {
  const rest = Math.max(0, size - offset);
  const wanted = length === 0 ? rest : Math.min(rest, length);
  if (wanted > limits.llbReadBytesMax) {
    throw invalidArgument(`${path}: ${wanted} bytes are more than ${limits.llbReadBytesMax} at once`);
  }
  const bytes = Buffer.alloc(wanted);
  let filled = 0;
  while (filled < wanted) {
    const { bytesRead } = await readAt(fd, bytes, filled, wanted - filled, at + offset + filled);
    if (bytesRead === 0) {
      break;
    }
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

function bounded<T>(path: string, all: T[]): T[] {
  if (all.length > limits.llbEntriesMax) {
    throw invalidArgument(`${path}: more than ${limits.llbEntriesMax} entries`);
  }
  return all;
}

/** As BuildKit's clients look for it: the path, and what the kernel says. */
function missing(path: string): Error {
  return notFound(`open ${path}: no such file or directory`);
}

function noFile(path: string): Error {
  return invalidArgument(`read ${path}: is no file`);
}

/** @path-hostile */
import { errnoOf, ifThere, invalidArgument } from '../../daemon/base/errors.ts';
import { openPathAt, openPathBeneath, readLink } from '../../daemon/base/kernel/files/files.ts';
import { fileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import type { FileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import { ERRNO, KernelError } from '../../daemon/base/kernel/libc.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import { DirectoryChain } from './directory-chain.ts';
import type { FilesView } from './view.ts';

/** Errors of a file that vanished, or turned into something else, between its listing and its reading. */
export const GONE: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP'];
/** As MAXSYMLINKS of the kernel. */
const LINKS_MAX = 40;
/** As PATH_MAX, which also bounds what a link may make of a path. */
const PATH_BYTES_MAX = 4096;

/** Where something lies in a view. */
export type BorrowedHandle = Pick<PathHandle, 'fd' | 'path' | 'isReadOnly' | 'isMounted'>;

/** Something found in a view: a descriptor that only names it (O_PATH), and what it was when it was found. */
export class PathHandle implements Disposable {
  readonly fd: number;
  /** Without links; `''` is the root, all others begin with a slash. */
  readonly path: string;
  readonly status: FileStatus;
  /** It lies in a mount that must not be written to. */
  readonly isReadOnly: boolean;
  /** It lies in one of the view's mounts, not in the root's own file system. */
  readonly isMounted: boolean;
  readonly #file: OpenFile | undefined;

  /** Owns the descriptor unless it is one of the view's. */
  constructor(found: BorrowedHandle, owned: boolean) {
    this.fd = found.fd;
    this.path = found.path;
    this.isReadOnly = found.isReadOnly;
    this.isMounted = found.isMounted;
    this.#file = owned ? new OpenFile(found.fd) : undefined;
    try {
      this.status = fileStatus(found.fd);
    } catch (error) {
      this.#file?.[Symbol.dispose]();
      throw error;
    }
  }

  /** The descriptor belongs to the view, which keeps it open. */
  get isBorrowed(): boolean {
    return this.#file === undefined;
  }

  [Symbol.dispose](): void {
    this.#file?.[Symbol.dispose]();
  }
}

/** Directories of a view on the way to another. */
export function handleChain(): DirectoryChain<PathHandle> {
  return new DirectoryChain<PathHandle>((fd, before) => new PathHandle({ ...borrowed(before), fd }, true));
}

function borrowed({ fd, path, isReadOnly, isMounted }: PathHandle): BorrowedHandle {
  return { fd, path, isReadOnly, isMounted };
}

/**
 * Finds `path` in a view as a process inside would: links and `..` stay inside the root. A container may swap things
 * meanwhile: all that is found is found from a descriptor inside the view. `followLast`: a link at the end counts as
 * what it points to; a slash or `/.` at the end asks for the same. `bytesMax`: more than the kernel takes in one call
 * is for callers that put the path together from names. Throws KernelError ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG;
 * invalid_argument for a NUL.
 */
export function locate(
  view: FilesView,
  path: string,
  options: { followLast: boolean; bytesMax?: number },
): PathHandle {
  check(path, options.bytesMax);
  const followLast = options.followLast || asksForDirectory(path);
  const direct = locateDirectly(view, path, followLast);
  if (direct !== undefined) {
    return direct;
  }
  using chain = handleChain();
  const missing = walk(view, chain, path, followLast);
  const found = missing.length === 0 ? chain.take() : undefined;
  if (found === undefined) {
    throw new KernelError('open', ERRNO.ENOENT, path);
  }
  return found;
}

/**
 * By one call of the kernel, for most paths have neither links nor `..` in them. undefined when that is not so, or when
 * something else is in the way. Throws ENOENT.
 */
function locateDirectly(view: FilesView, path: string, followLast: boolean): PathHandle | undefined {
  const names = components(path);
  if (names.includes('..') || names.length > limits.archiveDepthMax) {
    return undefined;
  }
  const start = startOf(view, names.map((name) => `/${name}`).join(''));
  const rest = names.slice(components(start.path).length);
  if (rest.length === 0) {
    return undefined;
  }
  try {
    const from = { ...start, path: `${start.path}/${rest.join('/')}` };
    const found = new PathHandle({ ...from, fd: openPathBeneath(start.fd, rest.join('/')) }, true);
    if (
      followLast &&
      (found.status.isSymbolicLink || (asksForDirectory(path) && !found.status.isDirectory))
    ) {
      found[Symbol.dispose]();
      return undefined;
    }
    return found;
  } catch (error) {
    const first = `${start.path}/${rest[0]}/`;
    if (errnoOf(error) === 'ENOENT' && !view.mounts.some((mount) => mount.path.startsWith(first))) {
      throw new KernelError('open', ERRNO.ENOENT, path);
    }
    return undefined;
  }
}

/** What of the view's table a path without links lies in, or the root. Of two at one place the later is on top. */
function startOf(view: FilesView, path: string): BorrowedHandle {
  let start: BorrowedHandle = { fd: view.root, path: '', isReadOnly: view.isReadOnly, isMounted: false };
  for (const mount of view.mounts) {
    if (
      mount.path.length >= start.path.length &&
      (path === mount.path || path.startsWith(`${mount.path}/`))
    ) {
      start = { ...mount, isMounted: true };
    }
  }
  return start;
}

/** What a name in a directory of the view is; links are not followed. Throws ENOENT. */
export function childOf(view: FilesView, parent: BorrowedHandle, name: string): PathHandle {
  const path = `${parent.path}/${name}`;
  const mount = view.mounts.findLast((candidate) => candidate.path === path);
  if (mount !== undefined) {
    return new PathHandle({ ...mount, isMounted: true }, false);
  }
  const { isReadOnly, isMounted } = parent;
  try {
    return new PathHandle({ fd: openPathAt(parent.fd, name), path, isReadOnly, isMounted }, true);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' && view.mounts.some((below) => below.path.startsWith(`${path}/`))) {
      return new PathHandle({ fd: view.empty, path, isReadOnly: true, isMounted: true }, false);
    }
    throw error;
  }
}

/** Where `path` leads, also when its last components do not exist: the path that something mounted there would have. */
export function canonicalPath(view: FilesView, path: string): string {
  check(path);
  using chain = handleChain();
  const missing = walk(view, chain, path, true);
  const names = components(chain.last?.path ?? '');
  for (const name of missing) {
    if (name === '..') {
      names.pop();
    } else {
      names.push(name);
    }
  }
  return names.map((name) => `/${name}`).join('');
}

/** Owns no descriptor: the view's are borrowed. */
function rootOf(view: FilesView): PathHandle {
  return new PathHandle({ fd: view.root, path: '', isReadOnly: view.isReadOnly, isMounted: false }, false);
}

/**
 * One component at a time: each is opened without following it, `..` goes back to the directory that was come from,
 * and a link's text starts again inside the root. Leaves what was found at the end of `chain`; answers the components
 * from the first on that does not exist.
 */
function walk(
  view: FilesView,
  chain: DirectoryChain<PathHandle>,
  path: string,
  followLast: boolean,
): string[] {
  chain.enter(rootOf(view), { isBorrowed: true });
  let pending = components(path);
  let links = 0;
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    const here = chain.last;
    if (here?.status.isDirectory !== true) {
      throw new KernelError('open', ERRNO.ENOTDIR, path);
    }
    if (name === '..') {
      if (chain.depth > 1) {
        chain.leave();
      }
      continue;
    }
    const next = childIfThere(view, here, name);
    if (next === undefined) {
      return [name, ...pending];
    }
    if (next.status.isSymbolicLink && (followLast || pending.length > 0)) {
      using link = next;
      links += 1;
      const target = readLink(link.fd);
      if (links > LINKS_MAX || pending.length > PATH_BYTES_MAX) {
        throw new KernelError('open', ERRNO.ELOOP, path);
      }
      if (target.startsWith('/')) {
        chain[Symbol.dispose]();
        chain.enter(rootOf(view), { isBorrowed: true });
      }
      pending = [...components(target), ...pending];
      continue;
    }
    chain.enter(next, { isBorrowed: next.isBorrowed });
    if (chain.depth > limits.archiveDepthMax) {
      throw new KernelError('open', ERRNO.ENAMETOOLONG, path);
    }
  }
  if (followLast && asksForDirectory(path) && chain.last?.status.isDirectory !== true) {
    throw new KernelError('open', ERRNO.ENOTDIR, path);
  }
  return [];
}

function asksForDirectory(path: string): boolean {
  return /\/\.?$/.test(path);
}

function childIfThere(view: FilesView, parent: PathHandle, name: string): PathHandle | undefined {
  return ifThere(() => childOf(view, parent, name));
}

function check(path: string, bytesMax = PATH_BYTES_MAX): void {
  if (path.includes('\0')) {
    throw invalidArgument(`open ${JSON.stringify(path)}: a path cannot hold a NUL character`);
  }
  if (path.length > bytesMax) {
    throw new KernelError('open', ERRNO.ENAMETOOLONG, `${path.slice(0, 200)}...`);
  }
}

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

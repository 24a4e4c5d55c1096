/** @path-hostile */
import { errnoOf, invalidArgument } from '../../daemon/base/errors.ts';
import { fileStatus, openPathAt, readLink } from '../../daemon/base/kernel/files.ts';
import type { FileStatus } from '../../daemon/base/kernel/files.ts';
import { ERRNO, KernelError } from '../../daemon/base/kernel/libc.ts';
import { OpenFile } from '../../daemon/base/kernel/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { FilesView } from './view.ts';

/** As MAXSYMLINKS of the kernel. */
const LINKS_MAX = 40;
/** As PATH_MAX and NAME_MAX; the second bounds what a link may make of a path. */
const PATH_BYTES_MAX = 4096;

/** Something found in a view: a descriptor that only names it (O_PATH), and what it was when it was found. */
export class Place implements Disposable {
  readonly fd: number;
  /** Without links; `''` is the root, all others begin with a slash. */
  readonly path: string;
  readonly status: FileStatus;
  /** It lies in a mount that must not be written to. */
  readonly isReadOnly: boolean;
  /** It lies in one of the view's mounts, not in the root's own file system. */
  readonly isMounted: boolean;
  readonly #file: OpenFile | undefined;

  constructor(found: Omit<Place, typeof Symbol.dispose | 'status'>, owned: boolean) {
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

  [Symbol.dispose](): void {
    this.#file?.[Symbol.dispose]();
  }
}

/**
 * Finds `path` in a view as a process inside would, one component at a time: each is opened without following it, `..`
 * goes back to the directory that was come from, and a link's text starts again inside the root. Whatever a container
 * swaps meanwhile, each step is from a descriptor inside the view to a name without slashes.
 * `followLast`: a link at the end counts as what it points to; a slash or `/.` at the end asks for the same.
 * Throws KernelError ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG; invalid_argument for a NUL.
 */
export function locate(view: FilesView, path: string, options: { followLast: boolean }): Place {
  const way: Place[] = [rootOf(view)];
  try {
    const missing = walk(view, way, path, options.followLast || /\/\.?$/.test(path));
    const found = way.pop();
    if (found === undefined || missing.length > 0) {
      found?.[Symbol.dispose]();
      throw new KernelError('open', ERRNO.ENOENT, path);
    }
    return found;
  } finally {
    way.forEach((place) => place[Symbol.dispose]());
  }
}

/** What a name in a directory of the view is; links are not followed. Throws ENOENT. */
export function childOf(view: FilesView, parent: Place, name: string): Place {
  const path = `${parent.path}/${name}`;
  const mount = view.mounts.findLast((candidate) => candidate.path === path);
  if (mount !== undefined) {
    return new Place({ ...mount, isMounted: true }, false);
  }
  const { isReadOnly, isMounted } = parent;
  try {
    return new Place({ fd: openPathAt(parent.fd, name), path, isReadOnly, isMounted }, true);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' && view.mounts.some((below) => below.path.startsWith(`${path}/`))) {
      return new Place({ fd: view.empty, path, isReadOnly: true, isMounted: true }, false);
    }
    throw error;
  }
}

/** Where `path` leads, also when its last components do not exist: the path that something mounted there would have. */
export function canonicalPath(view: FilesView, path: string): string {
  const way: Place[] = [rootOf(view)];
  try {
    const missing = walk(view, way, path, true);
    const names = components(way.at(-1)?.path ?? '');
    for (const name of missing) {
      if (name === '..') {
        names.pop();
      } else {
        names.push(name);
      }
    }
    return names.map((name) => `/${name}`).join('');
  } finally {
    way.forEach((place) => place[Symbol.dispose]());
  }
}

/** Owns no descriptor: the view's are borrowed. */
function rootOf(view: FilesView): Place {
  return new Place({ fd: view.root, path: '', isReadOnly: view.isReadOnly, isMounted: false }, false);
}

/** Leaves what was found at the end of `way`; answers the components from the first on that does not exist. */
function walk(view: FilesView, way: Place[], path: string, followLast: boolean): string[] {
  check(path);
  let pending = components(path);
  let links = 0;
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    const here = way.at(-1);
    if (here?.status.isDirectory !== true) {
      throw new KernelError('open', ERRNO.ENOTDIR, path);
    }
    if (name === '..') {
      if (way.length > 1) {
        way.pop()?.[Symbol.dispose]();
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
        way.splice(1).forEach((place) => place[Symbol.dispose]());
      }
      pending = [...components(target), ...pending];
      continue;
    }
    way.push(next);
    if (way.length > limits.archiveDepthMax) {
      throw new KernelError('open', ERRNO.ENAMETOOLONG, path);
    }
  }
  if (followLast && /\/\.?$/.test(path) && way.at(-1)?.status.isDirectory !== true) {
    throw new KernelError('open', ERRNO.ENOTDIR, path);
  }
  return [];
}

function childIfThere(view: FilesView, parent: Place, name: string): Place | undefined {
  try {
    return childOf(view, parent, name);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

function check(path: string): void {
  if (path.includes('\0')) {
    throw invalidArgument(`open ${JSON.stringify(path)}: a path cannot hold a NUL character`);
  }
  if (path.length > PATH_BYTES_MAX) {
    throw new KernelError('open', ERRNO.ENAMETOOLONG, `${path.slice(0, 200)}...`);
  }
}

function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

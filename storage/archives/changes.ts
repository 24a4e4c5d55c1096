/** @path-hostile */
import { errnoOf, invalidArgument } from '../../daemon/base/errors.ts';
import {
  fileStatus,
  getAttributeOf,
  listNames,
  openPathAt,
  reopen,
  type FileStatus,
} from '../../daemon/base/kernel/files.ts';
import { OpenFile } from '../../daemon/base/kernel/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import { OPAQUE_ATTRIBUTE } from '../layers/attributes.ts';
import { toText } from './view.ts';

/** As the API counts them. */
export const MODIFIED = 0;
export const ADDED = 1;
export const DELETED = 2;

export interface Change {
  /** Byte string; begins with a slash. */
  path: string;
  kind: typeof MODIFIED | typeof ADDED | typeof DELETED;
}

export interface ChangesRequest {
  /** The container's own layer, as it lies on the disk: it says where to look. */
  upper: number;
  /** What the container sees. */
  merged: number;
  /** What its image shows; undefined = an image without layers. */
  lower: number | undefined;
}

/**
 * What the engine puts into every container's root so that something can be mounted there: not the user's doing as
 * long as it is empty.
 */
const MOUNT_POINTS: Readonly<Record<string, 'directory' | 'file'>> = {
  '/dev': 'directory',
  '/dev/pts': 'directory',
  '/dev/shm': 'directory',
  '/dev/mqueue': 'directory',
  '/dev/console': 'file',
  '/proc': 'directory',
  '/sys': 'directory',
  '/etc': 'directory',
  '/etc/hosts': 'file',
  '/etc/hostname': 'file',
  '/etc/resolv.conf': 'file',
};

/**
 * What a container has changed of its image's files, sorted by path. Compares what is seen, not what overlayfs keeps:
 * a file that was copied up and is the same is no change. A directory in which something changed counts as modified.
 * Only directories that the upper layer has are looked into. Synchronous, for a worker.
 */
export function changesOf(request: ChangesRequest): Change[] {
  const found: Change[] = [];
  new Comparison(found).directory('', request, 1);
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** `/a/b` as clients read it. */
export function changeView({ path, kind }: Change): { Path: string; Kind: number } {
  return { Path: toText(path), Kind: kind };
}

class Comparison {
  readonly #found: Change[];

  constructor(found: Change[]) {
    this.#found = found;
  }

  /** True when something in the directory has changed. */
  directory(path: string, at: ChangesRequest, depth: number): boolean {
    if (depth > limits.archiveDepthMax) {
      throw invalidArgument(`${toText(path)}: directories nest deeper than ${limits.archiveDepthMax}`);
    }
    using upper = reopen(at.upper, 'directory');
    const names = new Set(listNames(upper.fd));
    let changed = this.#hidden(path, at, upper.fd, names);
    for (const name of names) {
      changed = this.#entry(`${path}/${name}`, name, at, depth) || changed;
    }
    return changed;
  }

  /** Names below an opaque directory that nothing of the upper layer replaces. */
  #hidden(path: string, at: ChangesRequest, upper: number, names: ReadonlySet<string>): boolean {
    if (at.lower === undefined || !isOpaque(upper)) {
      return false;
    }
    using lower = reopen(at.lower, 'directory');
    const hidden = listNames(lower.fd).filter((name) => !names.has(name));
    hidden.forEach((name) => this.#found.push({ path: `${path}/${name}`, kind: DELETED }));
    return hidden.length > 0;
  }

  #entry(path: string, name: string, at: ChangesRequest, depth: number): boolean {
    using upper = openIfThere(at.upper, name);
    using before = at.lower === undefined ? undefined : openIfThere(at.lower, name);
    using now = openIfThere(at.merged, name);
    if (upper === undefined || now === undefined) {
      if (before !== undefined) {
        this.#found.push({ path, kind: DELETED });
      }
      return before !== undefined;
    }
    const status = fileStatus(now.fd);
    const old = before && fileStatus(before.fd);
    let inside = false;
    if (status.isDirectory) {
      const lower = old?.isDirectory === true ? before?.fd : undefined;
      inside = this.directory(path, { upper: upper.fd, merged: now.fd, lower }, depth + 1);
    }
    if (old === undefined) {
      if (isMountPoint(path, status) && !inside) {
        return false;
      }
      this.#found.push({ path, kind: ADDED });
      return true;
    }
    if (inside || isDifferent(old, status)) {
      this.#found.push({ path, kind: MODIFIED });
      return true;
    }
    return false;
  }
}

function isMountPoint(path: string, status: FileStatus): boolean {
  return (
    Object.hasOwn(MOUNT_POINTS, path) &&
    MOUNT_POINTS[path] === status.type &&
    (status.isDirectory || status.size === 0)
  );
}

/** Size and time of a directory say only what its entries say themselves. */
function isDifferent(old: FileStatus, now: FileStatus): boolean {
  const sameOwner =
    old.type === now.type && old.mode === now.mode && old.uid === now.uid && old.gid === now.gid;
  if (!sameOwner || old.major !== now.major || old.minor !== now.minor) {
    return true;
  }
  return !now.isDirectory && (old.size !== now.size || !sameTime(old, now));
}

function sameTime({ mtime: a }: FileStatus, { mtime: b }: FileStatus): boolean {
  return a.seconds === b.seconds && a.nanoseconds === b.nanoseconds;
}

function isOpaque(directory: number): boolean {
  try {
    return getAttributeOf(directory, OPAQUE_ATTRIBUTE).toString('latin1') === 'y';
  } catch (error) {
    if (errnoOf(error) === 'ENODATA' || errnoOf(error) === 'ENOTSUP' || errnoOf(error) === 'EOPNOTSUPP') {
      return false;
    }
    throw error;
  }
}

/** A running container may remove it between the listing and here. */
function openIfThere(directory: number, name: string): OpenFile | undefined {
  try {
    return new OpenFile(openPathAt(directory, name));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') {
      return undefined;
    }
    throw error;
  }
}

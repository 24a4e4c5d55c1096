/** @path-hostile */
import { ifThere } from '../../daemon/base/errors.ts';
import { listNames, openPathAt, readLink, reopen } from '../../daemon/base/kernel/files/files.ts';
import { getAttributeOf } from '../../daemon/base/kernel/files/attributes.ts';
import { fileStatus, type FileStatus } from '../../daemon/base/kernel/files/file-status.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { OPAQUE_ATTRIBUTE } from '../layers/attributes.ts';
import { refuseDeep } from './member-path.ts';
import { haveSameAttributes, haveSameBytes } from './same-bytes.ts';
import { DirectoryChain } from './directory-chain.ts';
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
  /** Further places that the engine made to mount something there. */
  mountPoints?: Readonly<Record<string, 'directory' | 'file'>>;
  /** Nothing but `mountPoints` was put there by the engine. */
  isPlain?: boolean;
  /**
   * `upper` is all that is seen, not only what is new: what it lacks is deleted, and all files that look the same are
   * compared by their bytes.
   */
  isComplete?: boolean;
  /** Of the tar of a layer: without what is deleted. */
  skipsDeletions?: boolean;
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
 * a file that was copied up and is the same is no change. That is: type, mode, owner, size, time and attributes, and
 * the bytes where the time is of whole seconds, which somebody may have set (as containerd's continuity/fs). A
 * directory in which something changed counts as modified. Only directories that the upper layer has are looked into.
 * Synchronous, for a worker.
 */
export function changesOf(request: ChangesRequest): Change[] {
  const found: Change[] = [];
  new Comparison(found, request).run(request);
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * The same for the tar of a layer: also files that are as they were but have another name now. A tar says that by both
 * names being in it, so that `ln` of a file of the image makes one file of two names in what comes of the layer.
 */
export function layerChangesOf(request: ChangesRequest): Change[] {
  const found: Change[] = [];
  const linked = new LinkedNames();
  new Comparison(found, request, linked).run(request);
  const known = new Set(found.map(({ path }) => path));
  for (const path of linked.missing()) {
    // With the directories above: else a program that unpacks it would have to invent them.
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1)) {
      const place = path.slice(0, end);
      if (known.has(place)) {
        break;
      }
      known.add(place);
      found.push({ path: place, kind: MODIFIED });
    }
  }
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Names of files of the upper layer that have several. */
class LinkedNames {
  readonly #files = new Map<string, { unchanged: string[]; hasChanged: boolean }>();

  add(identity: string, path: string, isChanged: boolean): void {
    const file = this.#files.get(identity) ?? { unchanged: [], hasChanged: false };
    this.#files.set(identity, file);
    if (isChanged) {
      file.hasChanged = true;
    } else {
      file.unchanged.push(path);
    }
  }

  /** Those that are no change by themselves, of files of which another name is one. */
  missing(): string[] {
    return [...this.#files.values()].flatMap(({ unchanged, hasChanged }) => (hasChanged ? unchanged : []));
  }
}

/** `/a/b` as clients read it. */
export function changeView({ path, kind }: Change): { Path: string; Kind: number } {
  return { Path: toText(path), Kind: kind };
}

/** Something that the container has. */
interface Present {
  path: string;
  /** What the image has there. */
  old: FileStatus | undefined;
  now: FileStatus;
}

/** A directory that is being gone through. */
interface Level extends Present {
  /** Names still to come. */
  names: string[];
  hasLower: boolean;
  /** Something in it has changed. */
  changed: boolean;
}

class Comparison {
  readonly #found: Change[];
  readonly #linked: LinkedNames | undefined;
  readonly #mountPoints: Readonly<Record<string, 'directory' | 'file'>>;
  readonly #upper = chain();
  readonly #lower = chain();
  readonly #merged = chain();
  readonly #levels: Level[] = [];
  readonly #isComplete: boolean;

  constructor(
    found: Change[],
    {
      mountPoints,
      isPlain = false,
      isComplete = false,
    }: Pick<ChangesRequest, 'mountPoints' | 'isPlain' | 'isComplete'>,
    linked?: LinkedNames,
  ) {
    this.#found = found;
    this.#mountPoints = { ...(isPlain ? {} : MOUNT_POINTS), ...mountPoints };
    this.#isComplete = isComplete;
    this.#linked = linked;
  }

  /** Not by recursion: its depth is not bounded. */
  run(at: ChangesRequest): void {
    using _upper = this.#upper;
    using _lower = this.#lower;
    using _merged = this.#merged;
    const now = fileStatus(at.merged);
    this.#enter({ path: '', old: now, now }, at);
    for (let level = this.#levels.at(-1); level !== undefined; level = this.#levels.at(-1)) {
      const name = level.names.pop();
      if (name === undefined) {
        this.#leave(level);
      } else if (this.#entry(level, name)) {
        level.changed = true;
      }
    }
  }

  #enter(directory: Present, { upper, lower, merged }: ChangesRequest): void {
    refuseDeep(directory.path, this.#levels.length);
    const opened = reopen(upper, 'directory');
    this.#upper.enter(opened);
    this.#merged.enter(reopen(merged, 'directory'));
    const names = listNames(opened.fd);
    let changed = false;
    if (lower !== undefined) {
      const before = reopen(lower, 'directory');
      this.#lower.enter(before);
      const hidesOthers = this.#isComplete || isOpaque(opened.fd);
      changed = hidesOthers && this.#hidden(directory.path, before.fd, new Set(names));
      changed ||= !haveSameAttributes({ fd: lower }, { fd: merged }, 'directory');
    }
    this.#levels.push({ ...directory, names, hasLower: lower !== undefined, changed });
  }

  #leave(level: Level): void {
    this.#levels.pop();
    this.#upper.leave();
    this.#merged.leave();
    if (level.hasLower) {
      this.#lower.leave();
    }
    const above = this.#levels.at(-1);
    if (above !== undefined && this.#compare(level, level.changed)) {
      above.changed = true;
    }
  }

  /** Names below an opaque directory that nothing of the upper layer replaces. */
  #hidden(path: string, lower: number, names: ReadonlySet<string>): boolean {
    const hidden = listNames(lower).filter((name) => !names.has(name));
    hidden.forEach((name) => this.#found.push({ path: `${path}/${name}`, kind: DELETED }));
    return hidden.length > 0;
  }

  /** True when it has changed; of a directory that is known when it is left. */
  #entry(level: Level, name: string): boolean {
    const path = `${level.path}/${name}`;
    using upper = openIfThere(this.#upper, name);
    using before = level.hasLower ? openIfThere(this.#lower, name) : undefined;
    using merged = openIfThere(this.#merged, name);
    if (upper === undefined || merged === undefined) {
      if (before !== undefined) {
        this.#found.push({ path, kind: DELETED });
      }
      return before !== undefined;
    }
    const present = { path, old: before && fileStatus(before.fd), now: fileStatus(merged.fd) };
    if (!present.now.isDirectory) {
      const isChanged = this.#compare(present, this.#isOther(present, before, merged));
      if (this.#linked !== undefined && present.now.links > 1) {
        // Overlayfs shows inodes of its own making; which names are one file only the upper layer says.
        this.#linked.add(fileStatus(upper.fd).identity, path, isChanged);
      }
      return isChanged;
    }
    const lower = present.old?.isDirectory === true ? before?.fd : undefined;
    this.#enter(present, { upper: upper.fd, merged: merged.fd, lower });
    return false;
  }

  /** Whether what looks the same is not. */
  #isOther({ old, now }: Present, before: OpenFile | undefined, merged: OpenFile): boolean {
    if (before === undefined || old === undefined || isDifferent(old, now)) {
      return false;
    }
    if (now.isSymbolicLink) {
      return readLink(before.fd) !== readLink(merged.fd);
    }
    if (!now.isFile) {
      return false;
    }
    const isRead = this.#isComplete || now.mtime.nanoseconds === 0;
    return !haveSameAttributes(before, merged, 'file') || (isRead && !haveSameBytes(before, merged));
  }

  /** `inside`: something in it has changed. */
  #compare({ path, old, now }: Present, inside: boolean): boolean {
    if (old === undefined) {
      if (isMountPoint(this.#mountPoints, path, now) && !inside) {
        return false;
      }
      this.#found.push({ path, kind: ADDED });
      return true;
    }
    if (inside || isDifferent(old, now)) {
      this.#found.push({ path, kind: MODIFIED });
      return true;
    }
    return false;
  }
}

function chain(): DirectoryChain<OpenFile> {
  return new DirectoryChain<OpenFile>((fd) => new OpenFile(fd));
}

function isMountPoint(
  mountPoints: Readonly<Record<string, 'directory' | 'file'>>,
  path: string,
  status: FileStatus,
): boolean {
  return (
    Object.hasOwn(mountPoints, path) &&
    mountPoints[path] === status.type &&
    (status.isDirectory || status.size === 0)
  );
}

type ComparedStatus = Pick<FileStatus, 'mode' | 'uid' | 'gid' | 'major' | 'minor' | 'size' | 'mtime'> & {
  type: string;
};

/** Size and time of a directory say only what its entries say themselves. */
export function isDifferent(old: ComparedStatus, now: ComparedStatus): boolean {
  const sameOwner =
    old.type === now.type && old.mode === now.mode && old.uid === now.uid && old.gid === now.gid;
  if (!sameOwner || old.major !== now.major || old.minor !== now.minor) {
    return true;
  }
  return now.type !== 'directory' && (old.size !== now.size || !sameTime(old, now));
}

function sameTime({ mtime: a }: ComparedStatus, { mtime: b }: ComparedStatus): boolean {
  return a.seconds === b.seconds && a.nanoseconds === b.nanoseconds;
}

function isOpaque(directory: number): boolean {
  return (
    ifThere(
      () => getAttributeOf(directory, OPAQUE_ATTRIBUTE).toString('latin1') === 'y',
      ['ENODATA', 'ENOTSUP', 'EOPNOTSUPP'],
    ) ?? false
  );
}

/** A running container may remove it between the listing and here. */
function openIfThere(directories: DirectoryChain<OpenFile>, name: string): OpenFile | undefined {
  const directory = directories.last;
  if (directory === undefined) {
    return undefined;
  }
  return ifThere(() => new OpenFile(openPathAt(directory.fd, name)), ['ENOENT', 'ENOTDIR']);
}

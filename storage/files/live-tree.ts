/** @path-hostile */
import { EngineError, errnoOf, invalidArgument, unreachable } from '../../daemon/base/errors.ts';
import * as attributes from '../../daemon/base/kernel/files/attributes.ts';
import * as files from '../../daemon/base/kernel/files/files.ts';
import type { FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { setOwnerAndMode } from '../../daemon/base/kernel/files/owner-and-mode.ts';
import { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import { attributePolicy } from '../layers/attributes.ts';
import { ContentWriter } from '../layers/content-writer.ts';
import { checkNumbers } from '../tar/check-numbers.ts';
import { showName, splitName } from '../tar/names.ts';
import type { TarMember } from '../tar/parser.ts';
import { LastHandle } from './last-handle.ts';
import { OpenDirectories } from './open-directories.ts';
import { childOf, locate, type PathHandle } from './path-handle.ts';
import { memberPath } from './member-path.ts';
import { refuseExtractionPoint, refuseMountPoint, refuseReadOnly } from './refusals.ts';
import { removeAt } from './remove/remove-at.ts';
import { toText, type FilesView } from './view.ts';

const IMPLIED_MODE = 0o755;
const ROOT = { uid: 0, gid: 0 };
/** Names put together may be longer than one call of the kernel takes. */
const bytesMax = 2 * limits.archivePathBytesMax;

/** Where members are made, and with which owner. */
export interface LiveTreeRequest {
  view: FilesView;
  /** Where in the view; a byte string. An existing directory, links followed. */
  path: string;
  /**
   * Refuse a member that would replace a directory by something else, or the other way round, in the words of `docker
   * cp` or of a build.
   */
  keepsKinds: false | 'archive' | 'build';
  /** Owner of all that is made; undefined = as the tar says. */
  owner?: { uid: number; gid: number };
  /** Of directories that members need and the tar does not have; undefined = `owner`. */
  impliedOwner?: { uid: number; gid: number };
  /** Of these directories; undefined = now. */
  impliedTime?: FileTime;
}

/** Something of another kind is there, in the words of BuildKit (fsutil/copy), which are all that its clients show. */
export class KeptKindError extends EngineError {
  constructor(target: string, isDirectory: boolean) {
    super(
      'invalid_argument',
      isDirectory
        ? `cannot replace to directory ${target} with file`
        : `cannot copy to non-directory: ${target}`,
    );
  }
}

/** A file under construction. */
export interface OpenMember {
  write(bytes: Buffer): void;
  finish(): void;
  abandon(): void;
}

/**
 * Makes the members of a tar below a directory of a view, where a container may rename and replace whatever it likes at
 * any moment. Each member's directory is found as a process inside would find it (`locate`), and what is made is made
 * from that directory's descriptor with a name without slashes that is never followed. A race can only be won inside
 * the container's own files.
 */
export class LiveTree implements Disposable {
  readonly #request: LiveTreeRequest;
  readonly #point: string;
  readonly #open = new OpenDirectories<PathHandle>((handle) => handle[Symbol.dispose]());
  /** Of the open ones, those that may be written to. */
  readonly #taken = new WeakSet<PathHandle>();
  /** Set last: writing into a directory changes its time. */
  readonly #directoryTimes = new Map<string, { mtime: FileTime; handle: string }>();

  /** Throws as `locate`; invalid_argument when the path is no directory; forbidden when it may not be written to. */
  constructor(request: LiveTreeRequest) {
    this.#request = request;
    using point = locate(request.view, request.path, { followLast: true });
    refuseExtractionPoint(point);
    this.#point = point.path;
  }

  /** Makes a member. What it returns takes the content, for files. */
  apply(member: TarMember): OpenMember | undefined {
    const path = memberPath(member.name);
    checkNumbers(member);
    if (path === '') {
      // The directory that is copied to keeps what it is.
      return undefined;
    }
    const { name } = splitName(path);
    const parent = this.#parent(path);
    if (member.type === 'file') {
      const made = this.#newFile(parent, name, member);
      if (made !== undefined) {
        return made;
      }
    }
    const existing = this.#existing(parent, name, member);
    if (member.type === 'directory') {
      this.#directory(parent, name, { path, member, exists: existing === 'directory' });
      return undefined;
    }
    if (existing !== 'nothing') {
      removeAt(parent.fd, name);
      this.#open.forget(path);
    }
    switch (member.type) {
      case 'file':
        return this.#file(parent.fd, name, member, files.createFileAt(parent.fd, name));
      case 'symlink':
        files.makeSymlinkAt(parent.fd, name, symlinkTarget(member));
        this.#finishSpecial(parent.fd, name, member);
        return undefined;
      case 'link':
        this.#link(parent.fd, name, member);
        return undefined;
      case 'character':
      case 'block':
      case 'fifo':
        files.makeNodeAt(parent.fd, name, { ...member, type: files.NODE_TYPES[member.type], mode: 0o600 });
        this.#finishSpecial(parent.fd, name, member);
        return undefined;
      default:
        return unreachable(member.type);
    }
  }

  /** Sets the times of directories. */
  finish(): void {
    using last = new LastHandle(this.#request.view);
    for (const { mtime, handle: path } of this.#directoryTimes.values()) {
      try {
        const handle = last.at(path);
        if (handle.status.isDirectory) {
          using directory = files.reopen(handle.fd, 'directory');
          files.changeTime(directory.fd, mtime);
        }
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') {
          throw error;
        }
      }
    }
  }

  [Symbol.dispose](): void {
    this.#open[Symbol.dispose]();
  }

  /** The directory a member lies in, made when missing. Valid until the next but one call. */
  #parent(path: string): PathHandle {
    const there = splitName(path).parent;
    const handle = this.#open.withParents(
      there,
      (known) => this.#find(known),
      (above, name, made) => this.#implied(above, name, made),
    );
    if (!this.#taken.has(handle)) {
      if (!handle.status.isDirectory || files.isOfKernel(handle.fd)) {
        this.#open.forget(there);
        throw invalidArgument(
          `entry ${showName(path)}: what it lies in is no directory that can be copied to`,
        );
      }
      refuseReadOnly(handle);
      this.#taken.add(handle);
    }
    return handle;
  }

  /** As a process inside would find it: links are followed. undefined = it is not there. */
  #find(path: string): PathHandle | undefined {
    const known = this.#open.get(path);
    if (known !== undefined) {
      return known;
    }
    const { view } = this.#request;
    const { parent, name } = splitName(path);
    const above = path === '' ? undefined : this.#open.get(parent);
    try {
      if (above?.status.isDirectory === true && name !== '..') {
        const below = childOf(view, above, name);
        if (!below.status.isSymbolicLink) {
          return this.#open.add(path, below);
        }
        below[Symbol.dispose]();
      }
      return this.#open.add(path, locate(view, `${this.#point}/${path}`, { followLast: true, bytesMax }));
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || path === '') {
        throw error;
      }
      return undefined;
    }
  }

  #implied(parent: PathHandle, name: string, path: string): PathHandle {
    if (!parent.status.isDirectory || files.isOfKernel(parent.fd)) {
      throw invalidArgument(`entry ${showName(path)}: what it lies in is no directory that can be copied to`);
    }
    refuseReadOnly(parent);
    makeImplied(parent.fd, name, path);
    const made = childOf(this.#request.view, parent, name);
    using directory = files.reopen(made.fd, 'directory');
    const { owner, impliedOwner = owner } = this.#request;
    const { uid, gid } = impliedOwner ?? ROOT;
    files.changeOwner(directory.fd, uid, gid);
    files.changeMode(directory.fd, IMPLIED_MODE);
    const { impliedTime: mtime } = this.#request;
    if (mtime !== undefined) {
      this.#directoryTimes.set(path, { mtime, handle: made.path });
    }
    return made;
  }

  /** What has the name already. Throws when the client wants that kept and the member is of another kind. */
  #existing(parent: PathHandle, name: string, member: TarMember): 'nothing' | 'directory' | 'other' {
    const { view, keepsKinds } = this.#request;
    let isDirectory: boolean;
    try {
      using existing = childOf(view, parent, name);
      isDirectory = existing.status.isDirectory;
      if (!(isDirectory && member.type === 'directory')) {
        refuseMountPoint(view, existing);
      }
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') {
        return 'nothing';
      }
      throw error;
    }
    if (keepsKinds !== false && isDirectory !== (member.type === 'directory')) {
      const target = `${this.#point}/${memberPath(member.name)}`;
      if (keepsKinds === 'build') {
        throw new KeptKindError(toText(target), isDirectory);
      }
      const [kept, given] = isDirectory ? ['directory', 'non-directory'] : ['non-directory', 'directory'];
      throw invalidArgument(
        `cannot overwrite ${kept} ${JSON.stringify(target)} with ${given} ${showName(member.name)}`,
      );
    }
    return isDirectory ? 'directory' : 'other';
  }

  #directory(
    parent: PathHandle,
    name: string,
    { path, member, exists }: { path: string; member: TarMember; exists: boolean },
  ): void {
    if (!exists) {
      removeIfThere(parent.fd, name);
      this.#open.forget(path);
      files.makeDirectoryAt(parent.fd, name, 0o700);
    }
    using handle = childOf(this.#request.view, parent, name);
    refuseReadOnly(handle);
    using directory = files.reopen(handle.fd, 'directory');
    this.#metadata(directory.fd, member);
    this.#directoryTimes.set(path, { mtime: member.mtime, handle: handle.path });
  }

  /** Most names are new: those need no look at what was there. undefined = the name is taken. */
  #newFile(parent: PathHandle, name: string, member: TarMember): OpenMember | undefined {
    if (this.#request.view.mounts.some(({ path }) => path === `${parent.path}/${name}`)) {
      return undefined;
    }
    try {
      // Set-user-id and the like only once the owner is right.
      const fd = files.createFileAt(parent.fd, name, member.mode & 0o777);
      return this.#file(parent.fd, name, member, fd);
    } catch (error) {
      if (errnoOf(error) === 'EEXIST') {
        return undefined;
      }
      throw error;
    }
  }

  #file(parent: number, name: string, member: TarMember, fd: number): OpenMember {
    const file = new OpenFile(fd);
    const content = new ContentWriter(fd, member);
    return {
      write: (bytes) => content.write(bytes),
      finish: () => {
        content.finish();
        this.#metadata(fd, member);
        files.changeTime(fd, member.mtime);
        file[Symbol.dispose]();
      },
      abandon: () => {
        file[Symbol.dispose]();
        removeIfThere(parent, name);
      },
    };
  }

  #link(to: number, name: string, member: TarMember): void {
    const target = memberPath(member.linkName);
    if (target === '') {
      throw invalidArgument(`entry ${showName(member.name)}: hard link to a directory`);
    }
    const from = splitName(target);
    const parent = `${this.#point}/${from.parent}`;
    using source = locate(this.#request.view, parent, { followLast: true, bytesMax });
    files.makeLinkAt(source.fd, from.name, to, name);
  }

  #metadata(fd: number, member: TarMember): void {
    const { uid, gid } = this.#request.owner ?? member;
    setOwnerAndMode(fd, { uid, gid, mode: member.mode });
    for (const [attribute, value] of member.attributes) {
      setAttribute(member, attribute, () => attributes.setAttribute(fd, attribute, value));
    }
  }

  #finishSpecial(parent: number, name: string, member: TarMember): void {
    const { uid, gid } = this.#request.owner ?? member;
    files.changeOwnerAt(parent, name, uid, gid);
    if (member.type !== 'symlink') {
      files.changeNodeModeAt(parent, name, member.mode);
    }
    files.changeTimeAt(parent, name, member.mtime);
  }
}

function makeImplied(parent: number, name: string, path: string): void {
  try {
    files.makeDirectoryAt(parent, name, 0o700);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') {
      throw invalidArgument(`entry ${showName(path)}: what it lies in is a link to nowhere`, {
        cause: error,
      });
    }
    throw error;
  }
}

function removeIfThere(parent: number, name: string): void {
  try {
    removeAt(parent, name);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') {
      throw error;
    }
  }
}

function symlinkTarget({ name, linkName }: TarMember): string {
  if (linkName === '' || linkName.includes('\0')) {
    throw invalidArgument(`entry ${showName(name)}: a symbolic link needs a target`);
  }
  return linkName;
}

/** A file system without this kind of attribute is no reason to refuse the file; an attribute of the kernel's is. */
function setAttribute(member: TarMember, attribute: string, set: () => void): void {
  switch (attributePolicy(attribute)) {
    case 'refuse':
      throw invalidArgument(
        `entry ${showName(member.name)}: extended attribute ${showName(attribute)} is not allowed`,
      );
    case 'skip':
      return;
    case 'apply':
      try {
        set();
      } catch (error) {
        if (!['ENOTSUP', 'EOPNOTSUPP', 'EPERM'].includes(errnoOf(error) ?? '')) {
          throw error;
        }
      }
  }
}

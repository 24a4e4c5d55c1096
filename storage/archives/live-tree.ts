/** @path-hostile */
import { EngineError, errnoOf, invalidArgument, unreachable } from '../../daemon/base/errors.ts';
import * as files from '../../daemon/base/kernel/files.ts';
import { OpenFile } from '../../daemon/base/kernel/safepath.ts';
import { attributePolicy } from '../layers/attributes.ts';
import { ContentWriter } from '../layers/content-writer.ts';
import { checkNumbers } from '../layers/tar/check-numbers.ts';
import { showName, splitName } from '../layers/tar/names.ts';
import type { TarMember } from '../layers/tar/parser.ts';
import type { ExtractRequest } from './extract.ts';

import { childOf, locate, type Place } from './locate.ts';
import { memberPath } from './member-path.ts';
import { removeAt } from './remove-at.ts';

/** Directories kept open: a tar lists those of one after another. */
const OPEN_MAX = 64;
const IMPLIED_MODE = 0o755;

type LiveTreeRequest = Omit<ExtractRequest, 'tar' | 'what'>;

/** A file under construction. */
export interface OpenMember {
  write(bytes: Buffer): void;
  finish(): void;
  abandon(): void;
}

/**
 * Makes the members of a tar below a directory of a view, where a container may rename and replace whatever it likes
 * at any moment. Each member's directory is found as a process inside would find it (`locate`), and what is made is
 * made from that directory's descriptor with a name without slashes that is never followed. Whatever wins a race, it is
 * a race inside the container's own files.
 */
export class LiveTree implements Disposable {
  readonly #request: LiveTreeRequest;
  readonly #point: string;
  readonly #open = new Map<string, Place>();
  /** Set last: writing into a directory changes its time. */
  readonly #directoryTimes = new Map<string, TarMember>();

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
      this.#forget(path);
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
    for (const [path, member] of this.#directoryTimes) {
      try {
        using place = locate(this.#request.view, `${this.#point}/${path}`, { followLast: false });
        if (place.status.isDirectory) {
          using directory = files.reopen(place.fd, 'directory');
          files.changeTime(directory.fd, member.mtime);
        }
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') {
          throw error;
        }
      }
    }
  }

  [Symbol.dispose](): void {
    this.#forget('');
  }

  /** The directory a member lies in, made when missing. Valid until the next call. */
  #parent(path: string): Place {
    const { parent } = splitName(path);
    const known = this.#open.get(parent);
    if (known !== undefined) {
      return known;
    }
    const place = this.#findOrMake(parent);
    if (!place.status.isDirectory || files.isOfKernel(place.fd)) {
      place[Symbol.dispose]();
      throw invalidArgument(`entry ${showName(path)}: what it lies in is no directory that can be copied to`);
    }
    refuseReadOnly(place);
    if (this.#open.size >= OPEN_MAX) {
      this.#forget('');
    }
    this.#open.set(parent, place);
    return place;
  }

  #findOrMake(path: string): Place {
    const { view } = this.#request;
    try {
      return locate(view, `${this.#point}/${path}`, { followLast: true });
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT' || path === '') {
        throw error;
      }
    }
    const parent = this.#parent(path);
    const { name } = splitName(path);
    makeImplied(parent.fd, name, path);
    const made = childOf(view, parent, name);
    using directory = files.reopen(made.fd, 'directory');
    const { uid = 0, gid = 0 } = this.#request.owner ?? {};
    files.changeOwner(directory.fd, uid, gid);
    files.changeMode(directory.fd, IMPLIED_MODE);
    return made;
  }

  /** What has the name already. Throws when the client wants that kept and the member is of another kind. */
  #existing(parent: Place, name: string, member: TarMember): 'nothing' | 'directory' | 'other' {
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
    if (keepsKinds && isDirectory !== (member.type === 'directory')) {
      const [kept, given] = isDirectory ? ['directory', 'non-directory'] : ['non-directory', 'directory'];
      const target = JSON.stringify(`${this.#point}/${memberPath(member.name)}`);
      throw invalidArgument(`cannot overwrite ${kept} ${target} with ${given} ${showName(member.name)}`);
    }
    return isDirectory ? 'directory' : 'other';
  }

  #directory(
    parent: Place,
    name: string,
    { path, member, exists }: { path: string; member: TarMember; exists: boolean },
  ): void {
    if (!exists) {
      removeIfThere(parent.fd, name);
      this.#forget(path);
      files.makeDirectoryAt(parent.fd, name, 0o700);
    }
    using place = childOf(this.#request.view, parent, name);
    refuseReadOnly(place);
    using directory = files.reopen(place.fd, 'directory');
    this.#metadata(directory.fd, member);
    this.#directoryTimes.set(path, member);
  }

  /** Most names are new: those need no look at what was there. undefined = the name is taken. */
  #newFile(parent: Place, name: string, member: TarMember): OpenMember | undefined {
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

  #link(parent: number, name: string, member: TarMember): void {
    const target = memberPath(member.linkName);
    if (target === '') {
      throw invalidArgument(`entry ${showName(member.name)}: hard link to a directory`);
    }
    const from = splitName(target);
    using source = locate(this.#request.view, `${this.#point}/${from.parent}`, { followLast: true });
    files.makeLinkAt(source.fd, from.name, parent, name);
  }

  #metadata(fd: number, member: TarMember): void {
    const { uid, gid } = this.#request.owner ?? member;
    const now = files.fileStatus(fd);
    const isOwned = now.uid === uid && now.gid === gid;
    // Looking costs nothing, a change goes through the journal of the disk. The owner first: changing it drops
    // set-user-id bits and capabilities.
    if (!isOwned) {
      files.changeOwner(fd, uid, gid);
    }
    if (!isOwned || now.mode !== member.mode) {
      files.changeMode(fd, member.mode);
    }
    for (const [attribute, value] of member.attributes) {
      setAttribute(member, attribute, () => files.setAttribute(fd, attribute, value));
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

  /** A directory may have been replaced: what lies at or below it is looked up again. */
  #forget(path: string): void {
    for (const [known, place] of this.#open) {
      if (path === '' || known === path || known.startsWith(`${path}/`)) {
        place[Symbol.dispose]();
        this.#open.delete(known);
      }
    }
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

/** Throws dockerd's texts unless `point` can be extracted to. */
export function refuseExtractionPoint(point: Place): void {
  if (!point.status.isDirectory) {
    throw invalidArgument('extraction point is not a directory');
  }
  refuseReadOnly(point);
  if (files.isOfKernel(point.fd)) {
    throw invalidArgument(
      `${showName(point.path)} is a file system of the kernel: nothing can be copied into it`,
    );
  }
}

function refuseReadOnly(place: Place): void {
  if (place.isReadOnly) {
    const what = place.isMounted
      ? 'mounted volume is marked read-only'
      : 'container rootfs is marked read-only';
    throw new EngineError('forbidden', what);
  }
}

function refuseMountPoint(view: ExtractRequest['view'], existing: Place): void {
  if (view.mounts.some(({ path }) => path === existing.path || path.startsWith(`${existing.path}/`))) {
    throw new EngineError(
      'conflict',
      `${showName(existing.path)}: device or resource busy (it is a mount point)`,
    );
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

/** @path-hostile */
import { errnoOf, ifThere, unreachable } from '../../daemon/base/errors.ts';
import { isOfKernel, listNames, readLink, reopen } from '../../daemon/base/kernel/files/files.ts';
import { getAttributeOf, listAttributesOf } from '../../daemon/base/kernel/files/attributes.ts';
import { type FileStatus, type FileTime } from '../../daemon/base/kernel/files/file-status.ts';
import { attributePolicy } from '../layers/attributes.ts';
import type { TarChunks } from '../tar/chunks.ts';
import { encodeHeader, padding, TAR_END } from '../tar/encode.ts';
import { childOf, GONE, handleChain, type PathHandle } from './path-handle.ts';
import { refuseDeep } from './member-path.ts';
import type { FilesView } from './view.ts';

const NO_ATTRIBUTES: ReadonlyMap<string, Buffer> = new Map();
/** Where every container has devices of its own, which are made anew with each start. */
const DEVICES = '/dev';

/** A directory that is being gone through. */
interface Level {
  /** In front of the names in the tar. */
  prefix: string;
  /** Still to come, the next one last. */
  names: string[];
}

/**
 * Writes files of a view as a tar, by descriptors only: what a container does meanwhile can change what is in the tar,
 * never where it is from. Devices and FIFOs are never opened. Synchronous, for a worker.
 *
 * A file that shrinks while it is read is filled with zeros, one that grows is cut: its header was already written. A
 * name that vanishes before it is reached is left out; sockets, which no tar can hold, too.
 */
export class TarOut {
  readonly #view: FilesView;
  readonly #out: TarChunks;
  /** Names in the tar of files that have several. */
  readonly #linked = new Map<string, string>();

  /** Of all entries; undefined = each its own. */
  readonly #mtime: { mtime?: FileTime };
  readonly #isApart: boolean;

  /** `isApart`: each name of a file is a file of its own, as the reader may leave out the first of them. */
  constructor(
    view: FilesView,
    out: TarChunks,
    { isApart = false, ...times }: { mtime?: FileTime; isApart?: boolean } = {},
  ) {
    this.#view = view;
    this.#out = out;
    this.#mtime = times;
    this.#isApart = isApart;
  }

  /** A place with everything below it, called `name` in the tar. Children in the order of their bytes. */
  tree(handle: PathHandle, name: string): void {
    if (!handle.status.isDirectory) {
      this.single(handle, name);
      return;
    }
    this.#below(handle, this.#directory(handle, name.endsWith('/') ? name : `${name}/`));
  }

  /** Everything below a directory, but not itself. Names begin with `prefix`. */
  contents(handle: PathHandle, prefix: string): void {
    using directory = reopen(handle.fd, 'directory');
    this.#below(handle, this.#level(handle, directory.fd, prefix));
  }

  /** One object without what is below it. */
  single(handle: PathHandle, name: string): void {
    const { status } = handle;
    if (status.type === 'socket') {
      return;
    }
    if (!status.isDirectory && status.links > 1 && !this.#isApart) {
      const first = this.#linked.get(status.identity);
      if (first !== undefined) {
        this.#out.write(
          encodeHeader({ ...status, ...this.#mtime, type: 'link', size: 0, name, linkName: first }),
        );
        return;
      }
      this.#linked.set(status.identity, name);
    }
    switch (status.type) {
      case 'file': {
        using file = reopen(handle.fd, 'file');
        this.#header(status, { name, fd: file.fd });
        this.#content(file.fd, status.size);
        return;
      }
      case 'directory': {
        using directory = reopen(handle.fd, 'directory');
        this.#header(status, { name: `${name}/`, fd: directory.fd });
        return;
      }
      case 'symlink':
        this.#out.write(
          encodeHeader({
            ...status,
            ...this.#mtime,
            type: 'symlink',
            size: 0,
            name,
            linkName: readLink(handle.fd),
          }),
        );
        return;
      case 'character':
      case 'block':
      case 'fifo':
        this.#out.write(encodeHeader({ ...status, ...this.#mtime, type: status.type, size: 0, name }));
        return;
      default:
        unreachable(status.type);
    }
  }

  /** A name of the layers below that is gone (OCI image specification, "whiteouts"). */
  whiteout(name: string): void {
    this.#out.write(
      encodeHeader({ name, type: 'file', mode: 0, uid: 0, gid: 0, mtime: { seconds: 0, nanoseconds: 0 } }),
    );
  }

  finish(): void {
    this.#out.write(TAR_END);
    this.#out.finish();
  }

  /** Not by recursion: its depth is not bounded. */
  #below(start: PathHandle, top: Level): void {
    using chain = handleChain();
    chain.enter(start, { isBorrowed: true });
    const levels = [top];
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const name = level.names.pop();
      const here = chain.last;
      if (name === undefined || here === undefined) {
        levels.pop();
        chain.leave();
        continue;
      }
      const child = this.#find(here, name);
      const below = child && this.#child(here, child, `${level.prefix}${name}`);
      if (child !== undefined && below !== undefined) {
        chain.enter(child, { isBorrowed: child.isBorrowed });
        levels.push(below);
        refuseDeep(child.path, levels.length);
      }
    }
  }

  /**
   * Answers what is to be gone through next; any other child is closed. What vanishes from here on is told by the open
   * that fails before any of its bytes are written.
   */
  #child(parent: PathHandle, child: PathHandle, name: string): Level | undefined {
    let below: Level | undefined;
    try {
      if (!child.status.isDirectory) {
        this.single(child, name);
      } else if (isOfContainerRun(parent, child)) {
        const self = { ...child.status, ...this.#mtime, size: 0, name: `${name}/` };
        this.#out.write(encodeHeader({ ...self, type: 'directory' }));
      } else {
        below = this.#directory(child, `${name}/`);
      }
    } catch (error) {
      if (!GONE.includes(errnoOf(error) ?? '')) {
        throw error;
      }
    } finally {
      if (below === undefined) {
        child[Symbol.dispose]();
      }
    }
    return below;
  }

  #directory(handle: PathHandle, name: string): Level {
    using directory = reopen(handle.fd, 'directory');
    this.#header(handle.status, { name, fd: directory.fd });
    return this.#level(handle, directory.fd, name);
  }

  #level(handle: PathHandle, fd: number, prefix: string): Level {
    return { prefix, names: this.#names(handle, fd) };
  }

  /** Names in the directory, and those that only something mounted there makes, the last one first. */
  #names(handle: PathHandle, fd: number): string[] {
    const names = new Set(listNames(fd));
    const prefix = `${handle.path}/`;
    for (const { path } of this.#view.mounts) {
      if (path.startsWith(prefix)) {
        names.add(path.slice(prefix.length).split('/', 1)[0] ?? '');
      }
    }
    // Byte strings: their order is that of the bytes.
    return [...names].toSorted((a, b) => (a < b ? 1 : -1));
  }

  #find(handle: PathHandle, name: string): PathHandle | undefined {
    return ifThere(() => childOf(this.#view, handle, name), GONE);
  }

  #header(status: FileStatus, { name, fd }: { name: string; fd: number }): void {
    const type = status.isDirectory ? 'directory' : 'file';
    const size = status.isDirectory ? 0 : status.size;
    this.#out.write(
      encodeHeader({ ...status, ...this.#mtime, type, size, name, attributes: attributesOf(fd) }),
    );
  }

  #content(fd: number, size: number): void {
    let left = size;
    while (left > 0) {
      const count = this.#out.read(fd, left);
      if (count === 0) {
        this.#out.zeros(left);
        break;
      }
      left -= count;
    }
    this.#out.write(padding(size));
  }
}

/** A file system of the kernel's, or the devices, mounted in the tree that is walked: told as an empty directory. */
function isOfContainerRun(parent: PathHandle, child: PathHandle): boolean {
  return child.status.device !== parent.status.device && (child.path === DEVICES || isOfKernel(child.fd));
}

/** What belongs to a file and another host may take over; not the labels of this host's own policy. */
export function attributesOf(fd: number): ReadonlyMap<string, Buffer> {
  try {
    const names = listAttributesOf(fd).filter((name) => attributePolicy(name) === 'apply');
    return names.length === 0
      ? NO_ATTRIBUTES
      : new Map(names.map((name) => [name, getAttributeOf(fd, name)] as const));
  } catch (error) {
    if (['ENOTSUP', 'EOPNOTSUPP', 'ENODATA', 'EPERM'].includes(errnoOf(error) ?? '')) {
      return NO_ATTRIBUTES;
    }
    throw error;
  }
}

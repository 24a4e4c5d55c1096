import {
  chmodSync,
  chownSync,
  close,
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { constants as os } from 'node:os';
import { errnoOf, ifThere, invalidArgument } from '../../errors.ts';
import { declareSyscall, KernelError, SYS } from '../libc.ts';

/**
 * The only way to reach a path that an image, a container or a client can influence. Names are resolved by the kernel
 * as if the root directory were `/` (openat2(2), RESOLVE_IN_ROOT): neither `..`, nor an absolute link, nor a link
 * swapped in meanwhile leads out. What is done afterwards is done to the descriptor, never to the name again.
 */

/** A trusted directory of our own: its path, or a descriptor of it. */
export type Root = string | number;

const openat2 = declareSyscall('openat2', SYS.openat2, 'int dirfd, const char *path, void *how, size_t size');

const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_CREAT } = constants;

/** From linux/openat2.h. Magic links (/proc/N/fd/M) would leave the root, so they are refused. */
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_BENEATH = 0x08;
const RESOLVE_IN_ROOT = 0x10;

/** struct open_how: three 64-bit fields flags, mode, resolve. */
const OPEN_HOW_BYTES = 24;
/** The kernel answers EAGAIN when a rename or mount raced with a `..`; a container can provoke that at will. */
const RACE_RETRIES_MAX = 64;
/** As MAXSYMLINKS of the kernel. */
const LINKS_MAX = 40;

/** An open descriptor that closes with its scope: `using file = openInRoot(...)`. */
export class OpenFile implements Disposable {
  readonly fd: number;
  #open = true;

  constructor(fd: number) {
    this.fd = fd;
  }

  /** A path that names this very file as long as it is open, for calls that take no descriptor. */
  get path(): string {
    return `/proc/self/fd/${this.fd}`;
  }

  /** Closes it on a pool thread: for what may have to wait for a disk. */
  closeOnPool(): Promise<void> {
    if (!this.#open) {
      return Promise.resolve();
    }
    this.#open = false;
    return new Promise((resolve, reject) => {
      close(this.fd, (error) => (error ? reject(error) : resolve()));
    });
  }

  [Symbol.dispose](): void {
    if (this.#open) {
      this.#open = false;
      closeSync(this.fd);
    }
  }
}

/**
 * Opens `path` below `root`; links and `..` are resolved inside. Close-on-exec always. `flags` as open(2): take
 * `OPEN_PATH` to look without touching, and mind that a FIFO blocks without O_NONBLOCK.
 * Throws KernelError (ENOENT, ELOOP, ENOTDIR, ...), EngineError invalid_argument for a name with a NUL.
 */
export function openInRoot(root: Root, path: string, flags: number, mode = 0): OpenFile {
  return openResolved(root, path, { flags, mode, resolve: RESOLVE_IN_ROOT });
}

/**
 * As `openInRoot`, but a path that leads out of the directory (`..`, an absolute link) is refused, not bent back:
 * EXDEV.
 */
export function openBeneath(root: Root, path: string, flags: number): OpenFile {
  return openResolved(root, path, { flags, mode: 0, resolve: RESOLVE_BENEATH });
}

function openResolved(
  root: Root,
  path: string,
  { flags, mode, resolve }: { flags: number; mode: number; resolve: number },
): OpenFile {
  if (path.includes('\0')) {
    throw invalidArgument(`open ${JSON.stringify(path)}: a path cannot hold a NUL character`);
  }
  if (typeof root === 'string') {
    using directory = openRoot(root);
    return openResolved(directory.fd, path, { flags, mode, resolve });
  }
  const how = Buffer.alloc(OPEN_HOW_BYTES);
  how.writeBigUInt64LE(BigInt(flags | O_CLOEXEC), 0);
  // The kernel refuses a mode without O_CREAT.
  how.writeBigUInt64LE(BigInt((flags & O_CREAT) === 0 ? 0 : mode), 8);
  how.writeBigUInt64LE(BigInt(resolve | RESOLVE_NO_MAGICLINKS), 16);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return new OpenFile(openat2(path, root, path === '' ? '.' : path, how, OPEN_HOW_BYTES));
    } catch (error) {
      const code = errnoOf(error);
      if ((code !== 'EAGAIN' && code !== 'EINTR') || attempt === RACE_RETRIES_MAX) {
        throw error;
      }
    }
  }
}

/** Flags of a descriptor that only names a file: opening it has no effect on devices and FIFOs. */
export const OPEN_PATH = O_PATH;

/** A descriptor of a directory of our own, to resolve many names below it. */
export function openRoot(path: string): OpenFile {
  return new OpenFile(openSync(path, O_PATH | O_DIRECTORY));
}

/**
 * What `path` is below `root`, links followed unless `followLast` is false; undefined when there is nothing (a
 * missing name, a dangling link, a file where a directory is needed).
 */
export function statInRoot(
  root: Root,
  path: string,
  options: { followLast?: boolean } = {},
): Stats | undefined {
  using file = openIfThere(root, path, O_PATH | (options.followLast === false ? O_NOFOLLOW : 0));
  return file && fstatSync(file.fd);
}

/**
 * Contents of a regular file below `root`; undefined when there is nothing. Devices, FIFOs and directories are never
 * opened. Throws EngineError invalid_argument when it is not a regular file, holds more than `bytesMax`, or lies
 * behind a circle of links or a magic one.
 */
export function readFileInRoot(root: Root, path: string, bytesMax: number): Buffer | undefined {
  using named = openToRead(root, path);
  if (named === undefined) {
    return undefined;
  }
  if (!fstatSync(named.fd).isFile()) {
    throw invalidArgument(`read ${path}: not a regular file`);
  }
  using file = new OpenFile(openSync(named.path, O_RDONLY | O_NONBLOCK));
  const { size } = fstatSync(file.fd);
  if (size > bytesMax) {
    throw invalidArgument(`read ${path}: ${size} bytes are more than the limit of ${bytesMax}`);
  }
  // The size may change while reading: never more than was asked for, never more than there is.
  const content = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const count = readSync(file.fd, content, length, size - length, length);
    if (count === 0) {
      break;
    }
    length += count;
  }
  return content.subarray(0, length);
}

function openToRead(root: Root, path: string): OpenFile | undefined {
  try {
    return openIfThere(root, path, O_PATH);
  } catch (error) {
    if (errnoOf(error) === 'ELOOP') {
      throw invalidArgument(`read ${path}: too many links, or one that leads out of the file system`, {
        cause: error,
      });
    }
    throw error;
  }
}

/**
 * Makes `path` and its missing parents directories below `root`. New ones get exactly `mode` (the umask does not
 * count) and `uid`:`gid`; existing ones stay as they are. Dangling links are completed inside the root.
 * Throws KernelError ENOTDIR when a file is in the way, ELOOP when links go in circles.
 */
export function mkdirAllInRoot(
  root: Root,
  path: string,
  owner: { mode: number; uid: number; gid: number } = { mode: 0o755, uid: 0, gid: 0 },
): void {
  if (typeof root === 'string') {
    using directory = openRoot(root);
    return mkdirAllInRoot(directory.fd, path, owner);
  }
  let pending = components(path);
  let done = '';
  let links = 0;
  while (pending.length > 0) {
    const [name, ...rest] = pending;
    if (name === undefined) {
      break;
    }
    const next = `${done}/${name}`;
    using existing = openIfThere(root, next, O_PATH);
    if (existing) {
      if (!fstatSync(existing.fd).isDirectory()) {
        throw new KernelError('mkdir', os.errno.ENOTDIR, next);
      }
      done = next;
      pending = rest;
      continue;
    }
    const target = makeDirectory(root, done, name, owner);
    if (target === undefined) {
      done = next;
      pending = rest;
      continue;
    }
    links += 1;
    if (links > LINKS_MAX) {
      throw new KernelError('mkdir', os.errno.ELOOP, next);
    }
    // A dangling link: what it points to is made first, then this name resolves.
    pending = [...components(target), ...rest];
    done = target.startsWith('/') ? '' : done;
  }
}

/** Makes one directory; answers the target instead when the name is a link. */
function makeDirectory(
  root: number,
  parent: string,
  name: string,
  owner: { mode: number; uid: number; gid: number },
): string | undefined {
  using directory = openInRoot(root, parent, O_PATH | O_DIRECTORY);
  const path = `${directory.path}/${name}`;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') {
      throw error;
    }
    using there = openInRoot(directory.fd, name, O_PATH | O_NOFOLLOW);
    // Made by another process meanwhile: as good as ours.
    return fstatSync(there.fd).isSymbolicLink() ? readlinkSync(path) : undefined;
  }
  using made = openInRoot(directory.fd, name, O_PATH | O_NOFOLLOW | O_DIRECTORY);
  chownSync(made.path, owner.uid, owner.gid);
  chmodSync(made.path, owner.mode);
  return undefined;
}

/** Names of a path; `..` stays, because only the kernel knows where it leads. */
function components(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

function openIfThere(root: Root, path: string, flags: number): OpenFile | undefined {
  return ifThere(() => openInRoot(root, path, flags), ['ENOENT', 'ENOTDIR']);
}

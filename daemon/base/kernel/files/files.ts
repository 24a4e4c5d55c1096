import { chmodSync, constants, openSync, readdirSync, statfsSync, writeSync } from 'node:fs';
import { errnoOf, internal } from '../../errors.ts';
import { fileStatus } from './file-status.ts';
import type { FileTime } from './file-status.ts';
import { declare, declareSyscall, SYS } from '../libc.ts';
import { OpenFile } from './safepath.ts';

/**
 * File calls relative to a directory descriptor, for trees whose names come from images (layers). Names are byte
 * strings: one character per byte (latin1), because a tar's names need not be UTF-8 and must survive unchanged.
 *
 * Safe against links by construction: the last component is never followed. All are local and cannot block, except
 * `syncFileSystem`, which runs on a pool thread.
 */
const openat = declare('int openat(int dirfd, const void *path, int flags, uint32_t mode)');
const openat2 = declareSyscall(
  'openat2',
  SYS.openat2,
  'int dirfd, const void *path, const void *how, size_t size',
);
const mkdirat = declare('int mkdirat(int dirfd, const void *path, uint32_t mode)');
const mknodat = declare('int mknodat(int dirfd, const void *path, uint32_t mode, uint64_t dev)');
const symlinkat = declare('int symlinkat(const void *target, int dirfd, const void *path)');
const linkat = declare('int linkat(int fromfd, const void *from, int tofd, const void *to, int flags)');
const renameat = declare('int renameat(int fromfd, const void *from, int tofd, const void *to)');
const renameat2 = declare(
  'int renameat2(int fromfd, const void *from, int tofd, const void *to, uint32_t flags)',
);
const unlinkat = declare('int unlinkat(int dirfd, const void *path, int flags)');
const fchownat = declare('int fchownat(int dirfd, const void *path, uint32_t uid, uint32_t gid, int flags)');
const fchown = declare('int fchown(int fd, uint32_t uid, uint32_t gid)');
const fchmod = declare('int fchmod(int fd, uint32_t mode)');
const utimensat = declare('int utimensat(int dirfd, const void *path, const void *times, int flags)');
const futimens = declare('int futimens(int fd, const void *times)');
const readlinkat = declare('long readlinkat(int dirfd, const void *path, void *target, size_t size)');
const syncfs = declare('int syncfs(int fd)');

const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;
const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_REMOVEDIR = 0x200;
const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;
const RESOLVE_NO_XDEV = 0x01n;
const RESOLVE_NO_MAGICLINKS = 0x02n;
const RESOLVE_NO_SYMLINKS = 0x04n;
const RESOLVE_BENEATH = 0x08n;
const RESOLVE_IN_ROOT = 0x10n;
const OPEN_HOW_BYTES = 24;
/** Longest path of one call, its NUL counted, and longest target of a symbolic link (PATH_MAX of linux/limits.h). */
const PATH_BYTES_MAX = 4096;

const CREATE_FLAGS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | O_CLOEXEC;

/** NUL-terminated bytes of a byte string. The caller has refused names that hold a NUL. */
export function cString(name: string): Buffer {
  return Buffer.from(`${name}\0`, 'latin1');
}

/** struct timespec[2]: access and modification time, the same for both. */
function timespecs({ seconds, nanoseconds }: FileTime): Buffer {
  const times = Buffer.allocUnsafe(32);
  for (const offset of [0, 16]) {
    times.writeUInt32LE(seconds >>> 0, offset);
    times.writeInt32LE(Math.floor(seconds / 2 ** 32), offset + 4);
    times.writeUInt32LE(nanoseconds, offset + 8);
    times.writeUInt32LE(0, offset + 12);
  }
  return times;
}

/**
 * Opens for reading what an O_PATH descriptor stands for, even if its name leads elsewhere by now. Ask only for what
 * `fileStatus` has said it is: opening a device has effects. Throws ELOOP, ENOTDIR.
 */
export function reopen(fd: number, type: 'file' | 'directory'): OpenFile {
  const kind = type === 'directory' ? constants.O_DIRECTORY : constants.O_NONBLOCK;
  return new OpenFile(openSync(`/proc/self/fd/${fd}`, constants.O_RDONLY | kind | O_CLOEXEC));
}

/** Procfs, sysfs, cgroup, cgroup2, devpts, mqueue, debugfs, tracefs, securityfs, bpf, pstore and efivarfs. */
const KERNEL_FILE_SYSTEMS = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x1cd1, 0x19800202, 0x64626720, 0x74726163, 0x73636673,
  0xcafe4a11, 0x6165676c, 0xde5e81e4,
]);

/** Its files are interfaces of the kernel, not data: their sizes say nothing, and writing them has effects. */
export function isOfKernel(fd: number): boolean {
  return KERNEL_FILE_SYSTEMS.has(statfsSync(`/proc/self/fd/${fd}`).type);
}

/** Bytes that the file system of `fd` has left. */
export function freeBytes(fd: number): number {
  const { bavail, bsize } = statfsSync(`/proc/self/fd/${fd}`);
  return bavail * bsize;
}

/** Names in an open directory, without `.` and `..`, in no order. */
export function listNames(directory: number): string[] {
  return readdirSync(`/proc/self/fd/${directory}`, { encoding: 'latin1' });
}

/** Creates a regular file that must not exist yet, open for writing. The umask counts. Throws EEXIST. */
export function createFileAt(directory: number, name: string, mode = 0o600): number {
  return openat(name, directory, cString(name), CREATE_FLAGS, mode);
}

/** Opens the object itself without effects on it; a link is opened as a link. For fstat and /proc/self/fd. */
export function openPathAt(directory: number, name: string): number {
  return openat(name, directory, cString(name), O_PATH | constants.O_NOFOLLOW | O_CLOEXEC, 0);
}

/**
 * Opens `path` with links and `..` resolved as if `root` were `/`; magic links are refused. What lies deeper than one
 * call can say is opened in steps: the first as said, in the others no link is followed (ELOOP) and nothing leads up.
 */
export function openBytesInRoot(root: number, path: string, flags: number): number {
  const resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  if (path.length < PATH_BYTES_MAX) {
    return openBytes(root, path, flags, resolve);
  }
  const cut = path.lastIndexOf('/', PATH_BYTES_MAX - 1);
  using first = new OpenFile(openBytes(root, path.slice(0, cut), O_PATH | constants.O_DIRECTORY, resolve));
  return openBytesBeneath(first.fd, path.slice(cut + 1), flags);
}

/** Opens a path of any length below a directory. A link in it, or one at its end without O_NOFOLLOW, is ELOOP. */
export function openBytesBeneath(directory: number, path: string, flags: number): number {
  const resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  if (path.length < PATH_BYTES_MAX) {
    return openBytes(directory, path, flags, resolve);
  }
  const cut = path.lastIndexOf('/', PATH_BYTES_MAX - 1);
  using next = new OpenFile(
    openBytes(directory, path.slice(0, cut), O_PATH | constants.O_DIRECTORY, resolve),
  );
  return openBytesBeneath(next.fd, path.slice(cut + 1), flags);
}

/** As `openPathAt`, for a path of any length. A link on the way is ELOOP. */
export function openPathBeneath(directory: number, path: string): number {
  return openBytesBeneath(directory, path, O_PATH | constants.O_NOFOLLOW);
}

function openBytes(directory: number, path: string, flags: number, resolve: bigint): number {
  const how = Buffer.alloc(OPEN_HOW_BYTES);
  how.writeBigUInt64LE(BigInt(flags | O_CLOEXEC), 0);
  how.writeBigUInt64LE(resolve, 16);
  return openat2(path, directory, cString(path === '' ? '.' : path), how, OPEN_HOW_BYTES);
}

/**
 * True when something is mounted at the name, in the mount namespace through which the directory was reached. The
 * kernel keeps names only in the caller's own namespace from being removed: in another one the mount would go with the
 * name.
 */
export function isMountPointAt(directory: number, name: string): boolean {
  const how = Buffer.alloc(OPEN_HOW_BYTES);
  how.writeBigUInt64LE(BigInt(O_PATH | constants.O_NOFOLLOW | O_CLOEXEC), 0);
  how.writeBigUInt64LE(RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS, 16);
  try {
    using _opened = new OpenFile(openat2(name, directory, cString(name), how, OPEN_HOW_BYTES));
    return false;
  } catch (error) {
    if (errnoOf(error) === 'EXDEV') {
      return true;
    }
    throw error;
  }
}

export function makeDirectoryAt(directory: number, name: string, mode: number): void {
  mkdirat(name, directory, cString(name), mode);
}

/** S_IFCHR, S_IFBLK and S_IFIFO by the names that tar entries have. */
export const NODE_TYPES = {
  character: constants.S_IFCHR,
  block: constants.S_IFBLK,
  fifo: constants.S_IFIFO,
} as const;

/** `type` is S_IFCHR, S_IFBLK or S_IFIFO of stat(2). */
export function makeNodeAt(
  directory: number,
  name: string,
  node: { type: number; mode: number; major: number; minor: number },
): void {
  mknodat(name, directory, cString(name), node.type | node.mode, deviceNumber(node.major, node.minor));
}

/** As makedev(3): 12 bits of the major in the low half, 8 of the minor in the lowest byte, the rest above. */
export function deviceNumber(major: number, minor: number): bigint {
  const [a, i] = [BigInt(major), BigInt(minor)];
  return ((a & 0xfffff000n) << 32n) | ((a & 0xfffn) << 8n) | ((i & 0xffffff00n) << 12n) | (i & 0xffn);
}

export function makeSymlinkAt(directory: number, name: string, target: string): void {
  symlinkat(name, cString(target), directory, cString(name));
}

/** A further name of `fromName`; a symbolic link gets the name itself, not its target. */
export function makeLinkAt(from: number, fromName: string, to: number, toName: string): void {
  linkat(toName, from, cString(fromName), to, cString(toName), 0);
}

export function unlinkAt(directory: number, name: string): void {
  unlinkat(name, directory, cString(name), 0);
}

/** Moves a name; what has the new one is replaced. Throws EXDEV, ENOTEMPTY. */
export function renameAt(from: number, fromName: string, to: number, toName: string): void {
  renameat(fromName, from, cString(fromName), to, cString(toName));
}

/** Two trusted paths of ours change places, in one step that a crash cannot halve. Throws ENOENT, EXDEV, EINVAL. */
export function exchange(path: string, other: string): void {
  const [one, two] = [Buffer.from(`${path}\0`), Buffer.from(`${other}\0`)];
  renameat2(`${path} and ${other}`, AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE);
}

/** Removes an empty directory. Throws ENOTEMPTY, ENOTDIR. */
export function removeDirectoryAt(directory: number, name: string): void {
  unlinkat(name, directory, cString(name), AT_REMOVEDIR);
}

/** Target, a byte string, of a symbolic link that was opened with `openPathAt`. */
export function readLink(fd: number): string {
  const target = Buffer.allocUnsafe(PATH_BYTES_MAX);
  const length = readlinkat(`descriptor ${fd}`, fd, cString(''), target, target.length);
  return target.toString('latin1', 0, length);
}

export function changeOwnerAt(directory: number, name: string, uid: number, gid: number): void {
  fchownat(name, directory, cString(name), uid, gid, AT_SYMLINK_NOFOLLOW);
}

export function changeOwner(fd: number, uid: number, gid: number): void {
  fchown(`descriptor ${fd}`, fd, uid, gid);
}

export function changeMode(fd: number, mode: number): void {
  fchmod(`descriptor ${fd}`, fd, mode);
}

/** For a descriptor that only names a file (O_PATH), which fchmod(2) refuses. */
export function changeModeOfPath(fd: number, mode: number): void {
  chmodSync(`/proc/self/fd/${fd}`, mode);
}

/** chmod(2) of a device or FIFO without opening it and without following a link put in its place. */
export function changeNodeModeAt(directory: number, name: string, mode: number): void {
  using named = new OpenFile(openPathAt(directory, name));
  if (fileStatus(named.fd).isSymbolicLink) {
    throw internal(`chmod ${name}: replaced by a link while it was made`);
  }
  changeModeOfPath(named.fd, mode);
}

/** Writes all of it at a position, or where the descriptor stands. */
export function writeAll(fd: number, bytes: Buffer, position?: number): void {
  let written = 0;
  while (written < bytes.length) {
    const at = position === undefined ? null : position + written;
    written += writeSync(fd, bytes, written, bytes.length - written, at);
  }
}

/** Sets access and modification time with nanoseconds, which `fs.utimes` loses. */
export function changeTime(fd: number, time: FileTime): void {
  futimens(`descriptor ${fd}`, fd, timespecs(time));
}

export function changeTimeAt(directory: number, name: string, time: FileTime): void {
  utimensat(name, directory, cString(name), timespecs(time), AT_SYMLINK_NOFOLLOW);
}

/** Writes everything the file system of `fd` holds in memory to its disk. Blocks for seconds: on a pool thread. */
export async function syncFileSystem(fd: number): Promise<void> {
  await syncfs.async('file system', fd);
}

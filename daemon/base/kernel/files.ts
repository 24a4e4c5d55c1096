import { chmodSync, constants } from 'node:fs';
import { declare, declareSyscall, SYS } from './libc.ts';

/**
 * File calls relative to a directory descriptor, for trees whose names come from strangers (layers). Names are byte
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
const unlinkat = declare('int unlinkat(int dirfd, const void *path, int flags)');
const fchownat = declare('int fchownat(int dirfd, const void *path, uint32_t uid, uint32_t gid, int flags)');
const fchown = declare('int fchown(int fd, uint32_t uid, uint32_t gid)');
const fchmod = declare('int fchmod(int fd, uint32_t mode)');
const utimensat = declare('int utimensat(int dirfd, const void *path, const void *times, int flags)');
const futimens = declare('int futimens(int fd, const void *times)');
const fsetxattr = declare(
  'int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)',
);
const lsetxattr = declare(
  'int lsetxattr(const void *path, const char *name, const void *value, size_t size, int flags)',
);
const lgetxattr = declare('long lgetxattr(const void *path, const char *name, void *value, size_t size)');
const llistxattr = declare('long llistxattr(const void *path, void *list, size_t size)');
const syncfs = declare('int syncfs(int fd)');

const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;
const AT_SYMLINK_NOFOLLOW = 0x100;
const RESOLVE_NO_MAGICLINKS = 0x02n;
const RESOLVE_IN_ROOT = 0x10n;
const OPEN_HOW_BYTES = 24;
/** Largest value of one attribute (XATTR_SIZE_MAX of linux/limits.h). */
const XATTR_BYTES_MAX = 65_536;

const CREATE_FLAGS =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | O_CLOEXEC;

/** Seconds and nanoseconds since the epoch; seconds may be negative. */
export interface FileTime {
  seconds: number;
  nanoseconds: number;
}

/** NUL-terminated bytes of a byte string. The caller has refused names that hold a NUL. */
function cString(name: string): Buffer {
  return Buffer.from(`${name}\0`, 'latin1');
}

/** struct timespec[2]: access and modification time, the same for both. */
function timespecs(time: FileTime): Buffer {
  const times = Buffer.alloc(32);
  for (const offset of [0, 16]) {
    times.writeBigInt64LE(BigInt(time.seconds), offset);
    times.writeBigInt64LE(BigInt(time.nanoseconds), offset + 8);
  }
  return times;
}

/** Creates a regular file that must not exist yet, open for writing, mode 0600. Throws EEXIST. */
export function createFileAt(directory: number, name: string): number {
  return openat(name, directory, cString(name), CREATE_FLAGS, 0o600);
}

/** Opens the object itself without effects on it; a link is opened as a link. For fstat and /proc/self/fd. */
export function openPathAt(directory: number, name: string): number {
  return openat(name, directory, cString(name), O_PATH | constants.O_NOFOLLOW | O_CLOEXEC, 0);
}

/** Opens `path` with links and `..` resolved as if `root` were `/`; magic links are refused. */
export function openBytesInRoot(root: number, path: string, flags: number): number {
  const how = Buffer.alloc(OPEN_HOW_BYTES);
  how.writeBigUInt64LE(BigInt(flags | O_CLOEXEC), 0);
  how.writeBigUInt64LE(RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS, 16);
  return openat2(path, root, cString(path === '' ? '.' : path), how, OPEN_HOW_BYTES);
}

export function makeDirectoryAt(directory: number, name: string, mode: number): void {
  mkdirat(name, directory, cString(name), mode);
}

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

/** Sets access and modification time with nanoseconds, which `fs.utimes` loses. */
export function changeTime(fd: number, time: FileTime): void {
  futimens(`descriptor ${fd}`, fd, timespecs(time));
}

export function changeTimeAt(directory: number, name: string, time: FileTime): void {
  utimensat(name, directory, cString(name), timespecs(time), AT_SYMLINK_NOFOLLOW);
}

export function setAttribute(fd: number, attribute: string, value: Buffer): void {
  fsetxattr(attribute, fd, attribute, value, value.length, 0);
}

/** For objects that cannot be opened (links, devices); `directory` is a descriptor of ours, so its name is trusted. */
export function setAttributeAt(directory: number, name: string, attribute: string, value: Buffer): void {
  lsetxattr(attribute, cString(`/proc/self/fd/${directory}/${name}`), attribute, value, value.length, 0);
}

/** Value of an attribute of `path` (a trusted path of ours; a link is not followed). Throws ENODATA, ENOTSUP. */
export function getAttribute(path: string, attribute: string): Buffer {
  const value = Buffer.alloc(XATTR_BYTES_MAX);
  const size = lgetxattr(attribute, cString(path), attribute, value, value.length);
  return value.subarray(0, size);
}

/** Names of the attributes of `path` (a trusted path of ours; a link is not followed). */
export function listAttributes(path: string): string[] {
  const list = Buffer.alloc(XATTR_BYTES_MAX);
  const size = llistxattr(path, cString(path), list, list.length);
  return list
    .toString('latin1', 0, size)
    .split('\0')
    .filter((name) => name !== '');
}

/** Writes everything the file system of `fd` holds in memory to its disk. Blocks for seconds: on a pool thread. */
export async function syncFileSystem(fd: number): Promise<void> {
  await syncfs.async('file system', fd);
}

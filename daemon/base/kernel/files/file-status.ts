import { constants, fstatSync } from 'node:fs';

/** Seconds and nanoseconds since the epoch; seconds may be negative. */
export interface FileTime {
  seconds: number;
  nanoseconds: number;
}

export type FileType = 'file' | 'directory' | 'symlink' | 'character' | 'block' | 'fifo' | 'socket';

/** What fstat(2) says. */
export interface FileStatus {
  type: FileType;
  isDirectory: boolean;
  isFile: boolean;
  isSymbolicLink: boolean;
  /** Permission bits with set-user-id, set-group-id and sticky. */
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtime: FileTime;
  links: number;
  /** Number of its file system. */
  device: string;
  /** File system and inode: the same object has the same. */
  identity: string;
  major: number;
  minor: number;
}

const TYPES: Readonly<Record<number, FileType>> = {
  [constants.S_IFREG]: 'file',
  [constants.S_IFDIR]: 'directory',
  [constants.S_IFLNK]: 'symlink',
  [constants.S_IFCHR]: 'character',
  [constants.S_IFBLK]: 'block',
  [constants.S_IFIFO]: 'fifo',
  [constants.S_IFSOCK]: 'socket',
};
const NANOS_PER_SECOND = 1_000_000_000n;

/** Also of a descriptor that only names a file (O_PATH). */
export function fileStatus(fd: number): FileStatus {
  const stat = fstatSync(fd, { bigint: true });
  const type = TYPES[Number(stat.mode) & constants.S_IFMT] ?? 'file';
  const nanoseconds = ((stat.mtimeNs % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  return {
    type,
    isDirectory: type === 'directory',
    isFile: type === 'file',
    isSymbolicLink: type === 'symlink',
    mode: Number(stat.mode) & 0o7777,
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    size: Number(stat.size),
    mtime: {
      seconds: Number((stat.mtimeNs - nanoseconds) / NANOS_PER_SECOND),
      nanoseconds: Number(nanoseconds),
    },
    links: Number(stat.nlink),
    device: String(stat.dev),
    identity: `${stat.dev}:${stat.ino}`,
    // The inverse of `deviceNumber`.
    major: Number(((stat.rdev >> 8n) & 0xfffn) | ((stat.rdev >> 32n) & 0xfffff000n)),
    minor: Number((stat.rdev & 0xffn) | ((stat.rdev >> 12n) & 0xffffff00n)),
  };
}

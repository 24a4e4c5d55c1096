import { closeSync, constants, openSync } from 'node:fs';
import { changeInodeFlags } from './inode-flags.ts';

/** linux/fs.h. */
const FS_TOPDIR_FL = 0x0002_0000;

/**
 * Tells the file system that what lies in the subdirectories of a directory is unrelated (chattr(1), `T`). ext4 then
 * begins each in another part of the disk. Otherwise all containers share one, where it looks at every inode that was
 * freed in the last minute before it takes another: copying 3,000 files after as many were removed took five times as
 * long. Other file systems do without.
 */
export function spreadSubdirectories(path: string): void {
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    changeInodeFlags(path, fd, (flags) => flags | FS_TOPDIR_FL);
  } finally {
    closeSync(fd);
  }
}

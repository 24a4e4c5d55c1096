import { errnoOf } from '../../errors.ts';
import { declare } from '../libc.ts';

/** Variadic in C; the third argument of these requests is a pointer to an int. */
const ioctl = declare('int ioctl(int fd, unsigned long request, void *value)');
/** linux/fs.h, as 64-bit machines have them. */
const FS_IOC_GETFLAGS = 0x80086601n;
const FS_IOC_SETFLAGS = 0x40086602n;
const FS_IMMUTABLE_FL = 0x0000_0010;
const FS_APPEND_FL = 0x0000_0020;

/** Of a file system that has no such flags, or does not let them be changed. */
const NOT_HERE = new Set(['ENOTTY', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'ENOSYS', 'EPERM', 'EACCES', 'EROFS']);

/**
 * Changes the flags of an open file or directory that chattr(1) shows. False when nothing is to be changed, or where
 * there are no such flags. `what` names it in errors.
 */
export function changeInodeFlags(what: string, fd: number, change: (flags: number) => number): boolean {
  const flags = Buffer.alloc(8);
  try {
    ioctl(what, fd, FS_IOC_GETFLAGS, flags);
    const now = flags.readUInt32LE(0);
    const wanted = change(now) >>> 0;
    if (wanted === now) {
      return false;
    }
    flags.writeUInt32LE(wanted, 0);
    ioctl(what, fd, FS_IOC_SETFLAGS, flags);
    return true;
  } catch (error) {
    if (NOT_HERE.has(errnoOf(error) ?? '')) {
      return false;
    }
    throw error;
  }
}

/**
 * Clears the flags that forbid to delete a file, or a name in a directory (chattr(1), `i` and `a`): a privileged
 * container may have set it. True when that was so.
 */
export function allowDeletion(fd: number): boolean {
  return changeInodeFlags('allow deletion', fd, (flags) => flags & ~(FS_IMMUTABLE_FL | FS_APPEND_FL));
}

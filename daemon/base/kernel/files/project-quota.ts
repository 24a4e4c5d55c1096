import { errnoOf } from '../../errors.ts';
import { declare, declareSyscall, SYS } from '../libc.ts';

/**
 * Projects of XFS and ext4: a number that files carry, counted and limited by the file system (xfs_quota(8),
 * quotactl(2)). A directory that hands its project down gives it to everything made below it.
 *
 * quotactl_fd(2) takes a descriptor where quotactl(2) wants the device, which may have no name here; Linux 5.14 and up.
 */
export interface Project {
  id: number;
  isHandedDown: boolean;
}

/** Variadic in C; the third argument of these requests is a pointer to a struct fsxattr. */
const ioctl = declare('int ioctl(int fd, unsigned long request, void *value)');
const quotactlFd = declareSyscall(
  'quotactl_fd',
  SYS.quotactl_fd,
  'uint32_t fd, uint32_t cmd, uint32_t id, void *addr',
);

/** linux/fs.h: struct fsxattr of 28 bytes, flags first, project fourth. */
const FS_IOC_FSGETXATTR = 0x801c_581fn;
const FS_IOC_FSSETXATTR = 0x401c_5820n;
const FSXATTR_BYTES = 28;
const FSX_PROJECT = 12;
const FS_XFLAG_PROJINHERIT = 0x200;

/** linux/dqblk_xfs.h, which ext4 understands too: command << 8 | PRJQUOTA. */
const Q_XGETPQUOTA = 0x58_0302;
const Q_XSETPQLIM = 0x58_0402;
const Q_XGETPQSTATV = 0x58_0802;
/** struct fs_quota_statv: version, padding, 16 bits of flags; shorter than this. */
const STATV_BYTES = 256;
const FS_QUOTA_PDQ_ENFD = 1 << 5;
/** struct fs_disk_quota: limits and use in blocks of 512 bytes. */
const DISK_QUOTA_BYTES = 112;
const BLOCK_BYTES = 512;
const FS_DQUOT_VERSION = 1;
const FS_PROJ_QUOTA = 1 << 1;
const FS_DQ_BSOFT = 1 << 2;
const FS_DQ_BHARD = 1 << 3;
const OFFSET = { version: 0, flags: 1, fields: 2, id: 4, hardBlocks: 8, softBlocks: 16, usedBlocks: 40 };

/** The project of an open file. Throws KernelError, ENOTTY or EOPNOTSUPP where the file system has no projects. */
export function projectOf(fd: number): Project {
  const attributes = fileAttributes(fd);
  return {
    id: attributes.readUInt32LE(FSX_PROJECT),
    isHandedDown: (attributes.readUInt32LE(0) & FS_XFLAG_PROJINHERIT) !== 0,
  };
}

/** Puts a directory into a project, and with it what is made below it from now on. Throws KernelError. */
export function setProject(fd: number, id: number): void {
  const attributes = fileAttributes(fd);
  attributes.writeUInt32LE((attributes.readUInt32LE(0) | FS_XFLAG_PROJINHERIT) >>> 0, 0);
  attributes.writeUInt32LE(id, FSX_PROJECT);
  ioctl(`set project ${id}`, fd, FS_IOC_FSSETXATTR, attributes);
}

/** Whether the file system of an open file holds projects to their limits. Throws KernelError where it knows none. */
export function enforcesProjectLimits(fd: number): boolean {
  const state = Buffer.alloc(STATV_BYTES);
  state.writeInt8(1, 0);
  quotactlFd('quota state', fd, Q_XGETPQSTATV, 0, state);
  return (state.readUInt16LE(2) & FS_QUOTA_PDQ_ENFD) !== 0;
}

/** Bytes that a project uses and may use (0 = no limit), of the file system of an open file. Throws KernelError. */
export async function projectQuota(
  fd: number,
  id: number,
): Promise<{ usedBytes: number; limitBytes: number }> {
  const quota = Buffer.alloc(DISK_QUOTA_BYTES);
  try {
    await quotactlFd.async(`quota of project ${id}`, fd, Q_XGETPQUOTA, id, quota);
  } catch (error) {
    // XFS has no record of a project that was never used.
    if (errnoOf(error) !== 'ENOENT') {
      throw error;
    }
  }
  const bytesAt = (offset: number): number => Number(quota.readBigUInt64LE(offset)) * BLOCK_BYTES;
  return { usedBytes: bytesAt(OFFSET.usedBlocks), limitBytes: bytesAt(OFFSET.hardBlocks) };
}

/** `bytes` 0 = no limit; rounded up to what the file system counts in. Throws KernelError. */
export async function limitProject(fd: number, id: number, bytes: number): Promise<void> {
  const quota = Buffer.alloc(DISK_QUOTA_BYTES);
  quota.writeInt8(FS_DQUOT_VERSION, OFFSET.version);
  quota.writeInt8(FS_PROJ_QUOTA, OFFSET.flags);
  quota.writeUInt16LE(FS_DQ_BHARD | FS_DQ_BSOFT, OFFSET.fields);
  quota.writeUInt32LE(id, OFFSET.id);
  const blocks = BigInt(Math.ceil(bytes / BLOCK_BYTES));
  quota.writeBigUInt64LE(blocks, OFFSET.hardBlocks);
  quota.writeBigUInt64LE(blocks, OFFSET.softBlocks);
  await quotactlFd.async(`limit of project ${id}`, fd, Q_XSETPQLIM, id, quota);
}

function fileAttributes(fd: number): Buffer {
  const attributes = Buffer.alloc(FSXATTR_BYTES);
  ioctl('project', fd, FS_IOC_FSGETXATTR, attributes);
  return attributes;
}

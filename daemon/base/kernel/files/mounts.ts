import { declare, declareSyscall, SYS } from '../libc.ts';
import { OpenFile } from './safepath.ts';

/**
 * mount(2) on this thread: an overlay takes 0.3 ms, and a hop to a pool thread and back costs more than that on a busy
 * machine. umount2(2) on a pool thread: it waits for the disk (500 ms have been seen). All threads of the daemon share
 * one mount namespace, so it does not matter which of them calls.
 */
const mountCall = declare(
  'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
);
const umount2 = declare('int umount2(const char *target, int flags)');

const openTree = declareSyscall(
  'open_tree',
  SYS.open_tree,
  'int dirfd, const char *path, unsigned int flags',
);

/** From sys/mount.h. */
export const MOUNT_FLAGS = { readonly: 0x1, nosuid: 0x2, nodev: 0x4, noexec: 0x8, bind: 0x1000 } as const;
const MNT_DETACH = 0x2;
const UMOUNT_NOFOLLOW = 0x8;

/** The kernel copies one page of options and silently drops the rest: longer data would mount something else. */
export const MOUNT_DATA_BYTES_MAX = 4095;

export interface MountCall {
  source: string;
  target: string;
  type: string;
  /** Combination of MOUNT_FLAGS. */
  flags: number;
  /** Options of the file system, at most MOUNT_DATA_BYTES_MAX bytes. */
  data: string;
}

/** Mounts. Throws KernelError that names the target. */
export function mount(call: MountCall): void {
  mountCall(call.target, call.source, call.target, call.type, call.flags, call.data);
}

/** As `mount`, on a pool thread: for file systems that wait for a disk or a server. */
export async function mountInBackground(call: MountCall): Promise<void> {
  await mountCall.async(call.target, call.source, call.target, call.type, call.flags, call.data);
}

/**
 * Takes the topmost mount off `target`; a link at its end is not followed. `lazy` takes it out of the tree at once and
 * lets the kernel finish when its last user is gone.
 * Throws KernelError: EBUSY when in use, EINVAL when nothing is mounted there, ENOENT when there is no such place.
 */
export async function unmount(target: string, options: { lazy: boolean }): Promise<void> {
  await umount2.async(target, target, UMOUNT_NOFOLLOW | (options.lazy ? MNT_DETACH : 0));
}

const AT_FDCWD = -100;
const OPEN_TREE_CLONE = 1;
const OPEN_TREE_CLOEXEC = 0o2000000;

/**
 * A mount of its own of what is mounted at `path`, without what is mounted below it. It has no place in any tree and
 * goes with its descriptor, also when this process dies. Throws KernelError: EINVAL when nothing is mounted there.
 */
export function cloneMount(path: string): OpenFile {
  return new OpenFile(openTree(path, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

/**
 * Takes a mount that this process holds open out of the tree: it lives on as long as the descriptor. On this thread,
 * because nothing waits for a disk while the mount is held.
 */
export function detachMount(target: string): void {
  umount2(target, target, UMOUNT_NOFOLLOW | MNT_DETACH);
}

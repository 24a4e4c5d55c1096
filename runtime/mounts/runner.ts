import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError, errnoOf, errorText, internal } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { mount, MOUNT_DATA_BYTES_MAX, MOUNT_FLAGS, unmount } from '../../daemon/base/kernel/mounts.ts';
import type { MountCall } from '../../daemon/base/kernel/mounts.ts';
import { openRoot } from '../../daemon/base/kernel/safepath.ts';
import type { OpenFile } from '../../daemon/base/kernel/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import { mountPointsBelow, parseMountInfo } from './mountinfo.ts';
import { fitsAsNames, overlayOptions } from './overlay-options.ts';
import type { OverlayDirectories } from './overlay-options.ts';

/** The directories of one container's overlay, and where it is to appear. */
export interface OverlayLayout extends OverlayDirectories {
  merged: string;
}

/** How long a busy mount is given before it is taken out of the tree lazily. */
const BUSY_RETRIES_MS = [2, 10, 50, 100];
/** Mounts stacked on one point that are taken off; more is somebody's loop. */
const STACKED_MAX = 32;

/** Mounts and unmounts container root directories in process. Implements `MountRunner` of the container domain. */
export class KernelMounts {
  /**
   * Mounts an overlay at `layout.merged`. Throws EngineError invalid_argument for more layers than the kernel takes,
   * internal with the kernel's reason otherwise.
   */
  async overlay(layout: OverlayLayout, options: { readonly: boolean }): Promise<void> {
    if (layout.lowers.length > limits.overlayLowersMax) {
      throw new EngineError(
        'invalid_argument',
        `mount ${layout.merged}: ${layout.lowers.length} layers are more than the limit of ${limits.overlayLowersMax}`,
      );
    }
    failpoint('mounts.overlay');
    using names = shortNames(layout);
    const data = overlayOptions(names.directories);
    if (Buffer.byteLength(data) > MOUNT_DATA_BYTES_MAX) {
      throw internal(`mount ${layout.merged}: the options of ${layout.lowers.length} layers exceed one page`);
    }
    const flags = options.readonly ? MOUNT_FLAGS.readonly : 0;
    mountOrExplain({ source: 'overlay', target: layout.merged, type: 'overlay', flags, data });
  }

  /** An empty file system in memory, without devices, set-user-id and programs. Throws EngineError internal. */
  async tmpfs(target: string, options: { source: string; sizeBytes: number; mode: number }): Promise<void> {
    const { source, sizeBytes, mode } = options;
    failpoint('mounts.tmpfs');
    const { nosuid, nodev, noexec } = MOUNT_FLAGS;
    const data = `mode=${mode.toString(8)},size=${sizeBytes}`;
    mountOrExplain({ source, target, type: 'tmpfs', flags: nosuid | nodev | noexec, data });
  }

  /** Shows what is mounted at `source` at `target` too, with its flags. Throws EngineError internal. */
  async bind(source: string, target: string): Promise<void> {
    failpoint('mounts.bind');
    mountOrExplain({ source, target, type: 'bind', flags: MOUNT_FLAGS.bind, data: '' });
  }

  /**
   * Takes everything off `path` and waits for it. A mount still in use after a moment (another process looks into it,
   * or another mount namespace has a copy) is detached: gone from the tree now, freed when its last user leaves.
   */
  async unmount(path: string): Promise<void> {
    failpoint('mounts.unmount');
    for (let round = 0; round < STACKED_MAX; round += 1) {
      if (!(await unmountTopmost(path))) {
        return;
      }
    }
    throw internal(`unmount ${path}: still mounted after ${STACKED_MAX} unmounts`);
  }

  /** Mount points at or below `path`, in the order to unmount them. */
  below(path: string): string[] {
    return mountPointsBelow(parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')), path);
  }
}

function mountOrExplain(call: MountCall): void {
  try {
    mount(call);
  } catch (error) {
    throw internal(`mount ${call.type} at ${call.target}: ${errorText(error)}`, {
      cause: error,
      details: { source: call.source, data: call.data },
    });
  }
}

/** False when nothing was mounted. */
async function unmountTopmost(path: string): Promise<boolean> {
  for (const delayMs of [...BUSY_RETRIES_MS, undefined]) {
    try {
      await unmount(path, { lazy: delayMs === undefined });
      return true;
    } catch (error) {
      const code = errnoOf(error);
      if (code === 'EINVAL' || code === 'ENOENT') {
        return false;
      }
      if (code === 'EBUSY' && delayMs !== undefined) {
        await sleep(delayMs);
        continue;
      }
      throw internal(`unmount ${path}: ${errorText(error)}`, { cause: error });
    }
  }
  return false;
}

/**
 * Names of the directories that fit into an option string: their paths, or, when those are too long or hold
 * separators, descriptors of them (`/proc/self/fd/N` is never longer than 18 characters).
 */
function shortNames(layout: OverlayLayout): { directories: OverlayDirectories } & Disposable {
  if (fitsAsNames(layout)) {
    return { directories: layout, [Symbol.dispose]: () => undefined };
  }
  const opened: OpenFile[] = [];
  const close = (): void => opened.forEach((file) => file[Symbol.dispose]());
  const open = (path: string): string => {
    const file = openRoot(path);
    opened.push(file);
    return file.path;
  };
  try {
    return {
      directories: { lowers: layout.lowers.map(open), upper: open(layout.upper), work: open(layout.work) },
      [Symbol.dispose]: close,
    };
  } catch (error) {
    close();
    throw internal(`mount ${layout.merged}: ${errorText(error)}`, { cause: error });
  }
}

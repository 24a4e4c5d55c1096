import { mkdirSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError, errnoOf, errorText, internal } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import { CAP_SYS_RESOURCE, withoutCapability } from '../../daemon/base/kernel/processes/capabilities.ts';
import {
  cloneMount,
  detachMount,
  mount,
  MOUNT_DATA_BYTES_MAX,
  MOUNT_FLAGS,
  unmount,
} from '../../daemon/base/kernel/files/mounts.ts';
import type { MountCall } from '../../daemon/base/kernel/files/mounts.ts';
import { openRoot } from '../../daemon/base/kernel/files/safepath.ts';
import type { OpenFile } from '../../daemon/base/kernel/files/safepath.ts';
import { limits } from '../../daemon/base/limits.ts';
import { mountPointsBelow, parseMountInfo } from './mountinfo.ts';
import { fitsAsNames, overlayOptions, readOnlyOptions } from './overlay-options.ts';
import type { OverlayDirectories } from './overlay-options.ts';

/** The directories of one container's overlay, and where it is to appear. */
export interface OverlayLayout extends OverlayDirectories {
  merged: string;
}

interface TmpfsOptions {
  /** The name that it shows. */
  source: string;
  sizeBytes: number;
  mode: number;
}

/** How long a busy mount is given before it is taken out of the tree lazily. */
const BUSY_RETRIES_MS = [2, 10, 50, 100];

/** Mounts and unmounts container root directories in process. Implements `MountRunner` of the container domain. */
export class KernelMounts {
  /** An empty directory of ours, where a hidden mount appears for the moment before its place is taken from it. */
  readonly #viewPoint: string;
  /** Where trees are moved to be deleted. */
  readonly #temporary: string;

  constructor(options: { viewPoint: string; temporary: string }) {
    this.#viewPoint = options.viewPoint;
    this.#temporary = options.temporary;
  }

  /**
   * Makes what hidden mounts need, and takes away what a daemon that died in that moment left. Once, at start, before
   * `temporary` is emptied: what is mounted in there is no file to delete.
   */
  async prepare(): Promise<void> {
    await this.unmount(this.#viewPoint);
    for (const path of this.below(this.#temporary)) {
      await this.unmount(path);
    }
    await mkdir(this.#viewPoint, { recursive: true, mode: 0o700 });
  }

  /**
   * Mounts an overlay at `layout.merged`. Throws EngineError invalid_argument for more layers than the kernel takes,
   * internal with the kernel's reason otherwise. `isVolatile`: neither fsync(2) nor an unmount waits for the disk, and
   * its directories are mounted only once; Linux before 5.10 does not know that.
   */
  async overlay(layout: OverlayLayout, options: { readonly: boolean; isVolatile?: boolean }): Promise<void> {
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
    // Overlayfs writes with the rights of the process that mounted it: with this one, past every quota of ext4.
    withoutCapability(CAP_SYS_RESOURCE, () => {
      const call = { source: 'overlay', target: layout.merged, type: 'overlay', flags, data };
      if (options.isVolatile === true) {
        mountVolatile(call, (asked) => mountOrExplain(asked));
      } else {
        mountOrExplain(call);
      }
    });
  }

  /** Directories as one that nobody can write to, topmost first. An overlay without an upper one needs two of them. */
  async overlayView(lowers: readonly string[], target: string): Promise<void> {
    failpoint('mounts.view');
    const [only] = lowers;
    if (lowers.length <= 1) {
      await (only !== undefined && this.bind(only, target));
      return;
    }
    using names = shortPaths(lowers);
    const data = readOnlyOptions(names.paths);
    mountOrExplain({ source: 'overlay', target, type: 'overlay', flags: MOUNT_FLAGS.readonly, data });
  }

  /** An empty file system in memory, without devices, set-user-id and programs. Throws EngineError internal. */
  async tmpfs(target: string, options: TmpfsOptions): Promise<void> {
    failpoint('mounts.tmpfs');
    const { nosuid, nodev, noexec } = MOUNT_FLAGS;
    mountOrExplain(tmpfsCall(target, options, nosuid | nodev | noexec));
  }

  /** The same for secrets, and for programs too: where the kernel can (6.4), it is never swapped out to a disk. */
  async secretTmpfs(target: string, options: TmpfsOptions): Promise<void> {
    failpoint('mounts.secrets');
    const call = tmpfsCall(target, options, MOUNT_FLAGS.nosuid | MOUNT_FLAGS.nodev);
    try {
      mount({ ...call, data: `${call.data},noswap` });
    } catch {
      // An option that the kernel does not know, or whatever fails without it too, and then says why.
      mountOrExplain(call);
    }
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
    for (let round = 0; round < limits.mountsStackedMax; round += 1) {
      if (!(await unmountTopmost(path))) {
        return;
      }
    }
    throw internal(`unmount ${path}: still mounted after ${limits.mountsStackedMax} unmounts`);
  }

  /**
   * The directories seen as one, topmost first, to be read only. It is mounted nowhere: what is returned is the only
   * way to it, and closing it the end.
   */
  hiddenView(lowers: readonly string[]): OpenFile {
    const [only] = lowers;
    if (lowers.length === 1 && only !== undefined) {
      return openRoot(only);
    }
    using names = shortPaths(lowers);
    return this.#mountHidden({ flags: MOUNT_FLAGS.readonly, data: readOnlyOptions(names.paths) });
  }

  /** As `hiddenView`, of an overlay to be written to. Closing it waits for the disk: not on the main thread. */
  hiddenOverlay(layout: OverlayLayout): OpenFile {
    using names = shortNames(layout);
    return this.#mountHidden({ flags: 0, data: overlayOptions(names.directories) });
  }

  /**
   * The same for a tree that is thrown away with its mount: closing it waits for nothing, and a power cut may leave the
   * upper directory in any state. Before Linux 5.10 it is `hiddenOverlay`.
   */
  scratchOverlay(layout: OverlayLayout): OpenFile {
    using names = shortNames(layout);
    const call = { flags: 0, data: overlayOptions(names.directories) };
    return mountVolatile(call, (asked) => this.#mountHidden(asked));
  }

  /** What is mounted at `path` without what lies over it; it stays as long as the descriptor, come what may. */
  hiddenCopy(path: string): OpenFile {
    failpoint('mounts.copy');
    try {
      return cloneMount(path);
    } catch (error) {
      throw internal(`open the mount at ${path}: ${errorText(error)}`, { cause: error });
    }
  }

  /** In one turn of the event loop, so that no other mount uses the place meanwhile. */
  #mountHidden({ flags, data }: Pick<MountCall, 'flags' | 'data'>): OpenFile {
    const target = this.#viewPoint;
    if (Buffer.byteLength(data) > MOUNT_DATA_BYTES_MAX) {
      throw internal(`mount ${target}: the options of its layers exceed one page`);
    }
    failpoint('mounts.hidden');
    // Gone with the rest when exec root was cleaned.
    mkdirSync(target, { recursive: true, mode: 0o700 });
    mountOrExplain({ source: 'overlay', target, type: 'overlay', flags, data });
    try {
      failpoint('mounts.hidden.mounted');
      return openRoot(target);
    } finally {
      detachMount(target);
    }
  }

  /** Mount points at or below `path`, in the order to unmount them. */
  below(path: string): string[] {
    return mountPointsBelow(parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')), path);
  }
}

function tmpfsCall(target: string, { source, sizeBytes, mode }: TmpfsOptions, flags: number): MountCall {
  return { source, target, type: 'tmpfs', flags, data: `mode=${mode.toString(8)},size=${sizeBytes}` };
}

function mountVolatile<C extends { data: string }, R>(call: C, mountIt: (call: C) => R): R {
  try {
    return mountIt({ ...call, data: `${call.data},volatile` });
  } catch {
    // An option that the kernel does not know, or whatever fails without it too, and then says why.
    return mountIt(call);
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

/** Names of directories that fit into an option string, as `shortNames`. */
function shortPaths(paths: readonly string[]): { paths: readonly string[] } & Disposable {
  const [upper = ''] = paths;
  if (fitsAsNames({ lowers: paths, upper, work: upper })) {
    return { paths, [Symbol.dispose]: () => undefined };
  }
  const opened: OpenFile[] = [];
  try {
    paths.forEach((path) => opened.push(openRoot(path)));
  } catch (error) {
    opened.forEach((file) => file[Symbol.dispose]());
    throw error;
  }
  return {
    paths: opened.map((file) => file.path),
    [Symbol.dispose]: () => opened.forEach((file) => file[Symbol.dispose]()),
  };
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

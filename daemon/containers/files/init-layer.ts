/** @path-hostile */
import { errnoOf } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import {
  createFileAt,
  makeDirectoryAt,
  makeSymlinkAt,
  openPathAt,
  unlinkAt,
} from '../../base/kernel/files/files.ts';
import { OpenFile, openRoot } from '../../base/kernel/files/safepath.ts';
import type { ContainerContext } from '../context.ts';

/** A link has its target here. */
type Kind = 'directory' | 'file' | { link: string };

/**
 * What every container has below its own layer and above those of its image, as with dockerd (moby
 * daemon/initlayer/setup_unix.go): places to mount at, `/.dockerenv`, by which programs know that they are in a
 * container, and `/etc/mtab`, which mount(8) and df(1) of old read.
 */
const ENTRIES: readonly (readonly [path: string, kind: Kind])[] = [
  ['dev/pts', 'directory'],
  ['dev/shm', 'directory'],
  ['proc', 'directory'],
  ['sys', 'directory'],
  ['.dockerenv', 'file'],
  ['etc/resolv.conf', 'file'],
  ['etc/hosts', 'file'],
  ['etc/hostname', 'file'],
  ['dev/console', 'file'],
  ['etc/mtab', { link: '/proc/mounts' }],
];

/**
 * Makes the init layer of these layers unless there is one: the first container of an image pays for it. It is a layer
 * of its own so that `diff` and `commit` do not see what no container has done, while `cp` and `export` do.
 */
export async function ensureInitLayer(
  { rootfs, mounts, turns }: Pick<ContainerContext, 'rootfs' | 'mounts' | 'turns'>,
  layerIds: readonly number[],
): Promise<void> {
  const draft = rootfs.draftInitLayer(layerIds);
  if (draft === undefined) {
    return;
  }
  try {
    await turns.next();
    failpoint('containers.init.make');
    {
      using root = mounts.scratchOverlay(draft.layout);
      ENTRIES.forEach(([path, kind]) => make(root.path, path, kind));
    }
    failpoint('containers.init.place');
    draft.place();
  } finally {
    await draft.discard();
  }
}

/** Whatever of the image is no directory gives way, as with dockerd: a link would lead the mount somewhere else. */
function make(root: string, path: string, kind: Kind): void {
  const names = path.split('/');
  const last = names.pop() ?? '';
  using parent = names.reduce<OpenFile>((directory, name) => {
    using above = directory;
    makeDirectory(above.fd, name);
    return new OpenFile(openPathAt(above.fd, name));
  }, openRoot(root));
  if (kind === 'directory') {
    makeDirectory(parent.fd, last);
    return;
  }
  if (!removeUnlessDirectory(parent.fd, last)) {
    return;
  }
  if (kind === 'file') {
    using _made = new OpenFile(createFileAt(parent.fd, last, 0o755));
  } else {
    makeSymlinkAt(parent.fd, last, kind.link);
  }
}

function makeDirectory(parent: number, name: string): void {
  if (removeUnlessDirectory(parent, name)) {
    makeDirectoryAt(parent, name, 0o755);
  }
}

/** False when there is a directory. */
function removeUnlessDirectory(parent: number, name: string): boolean {
  try {
    unlinkAt(parent, name);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return true;
    }
    if (errnoOf(error) === 'EISDIR') {
      return false;
    }
    throw error;
  }
}

/** @path-hostile */
import { posix } from 'node:path';
import { invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { mkdirAllInRoot, statInRoot, type Root } from '../../base/kernel/files/safepath.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';

/**
 * Whether the working directory of a new container has to be made. Throws invalid_argument with dockerd's text when
 * something else is in its place.
 */
export async function lacksWorkingDirectory(
  context: ContainerContext,
  { id, layerIds, spec }: Pick<Container, 'id' | 'layerIds' | 'spec'>,
): Promise<boolean> {
  const path = spec.config.WorkingDir ?? '';
  if (path === '' || path === '/') {
    return false;
  }
  await context.turns.next();
  using root = context.mounts.hiddenView(context.rootfs.layout(id, layerIds).lowers);
  const found = deepest(root.fd, path);
  if (!found.isDirectory) {
    throw invalidArgument(`Cannot mkdir: ${found.path} is not a directory (WorkingDir: ${path})`);
  }
  return found.path !== path;
}

/** What there is of a path. */
function deepest(root: Root, path: string): { path: string; isDirectory: boolean } {
  const found = statInRoot(root, path);
  return found === undefined
    ? deepest(root, posix.dirname(path))
    : { path, isDirectory: found.isDirectory() };
}

/**
 * Makes it in the container's own layer, where `cp` finds it before the first start. After the row is stored, so that a
 * crash leaves no files without an owner; whatever prevents it here, the runtime tries again at the start.
 */
export async function makeWorkingDirectory(
  { mounts, rootfs, mutex, log }: ContainerContext,
  { id, layerIds, spec }: Pick<Container, 'id' | 'layerIds' | 'spec'>,
): Promise<void> {
  await mutex.run(id, async () => {
    try {
      failpoint('containers.create.workdir');
      // Not the container's own: what a mount that waits for no disk leaves in there keeps every later one away.
      await using work = rootfs.scratchWork();
      using root = mounts.scratchOverlay({ ...rootfs.layout(id, layerIds), work: work.path });
      mkdirAllInRoot(root.fd, spec.config.WorkingDir ?? '');
    } catch (error) {
      log.warn({ container: id, err: error }, 'the working directory is left to the first start');
    }
  });
}

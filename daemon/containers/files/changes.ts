import type { ContainerChange } from '../../../api/types/container.ts';
import { changeView, type ChangesRequest } from '../../../storage/files/changes.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot } from '../../base/kernel/files/safepath.ts';
import type { ContainerContext } from '../context.ts';
import { openBareRoot, openEndedRoot } from './export.ts';
import type { Container } from '../state/container.ts';

/** What the container has changed of its image's files, sorted by path, without mount points that the engine made. */
export async function containerChanges(context: ContainerContext, ref: string): Promise<ContainerChange[]> {
  const changes = await withRoots(context, context.registry.find(ref), async (request) => {
    failpoint('containers.changes.compare');
    return await context.archives.changes(request);
  });
  return changes.map(changeView);
}

/** The same as the tar of a layer, in a file without a name. */
export async function spoolChanges(
  context: ContainerContext,
  container: Container,
  signal: AbortSignal,
  mountPoints: ChangesRequest['mountPoints'] = {},
): Promise<ChangesTar> {
  return await withRoots(context, container, async (request) => {
    failpoint('containers.commit.layer');
    return await context.tarSpools.ofChanges({ ...request, mountPoints }, signal);
  });
}

async function withRoots<T>(
  context: ContainerContext,
  container: Container,
  work: (request: ChangesRequest) => Promise<T>,
): Promise<T> {
  using merged = openEndedRoot(context, container) ?? (await openBareRoot(context, container));
  const { upper, lowers } = context.rootfs.layout(container.id, container.layerIds);
  using own = openRoot(upper);
  using below = lowers.length === 0 ? undefined : context.mounts.hiddenView(lowers);
  return await work({ upper: own.fd, merged: merged.fd, lower: below?.fd });
}

import type { ContainerChange } from '../../../api/types/container.ts';
import { changeView } from '../../../storage/files/changes.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot, type OpenFile } from '../../base/kernel/safepath.ts';
import type { ContainerContext } from '../context.ts';
import { openBareRoot } from './export.ts';
import type { Container } from '../state/container.ts';

/** What the container has changed of its image's files, sorted by path, without mount points that the engine made. */
export async function containerChanges(context: ContainerContext, ref: string): Promise<ContainerChange[]> {
  const container = context.registry.find(ref);
  using merged = await openBareRoot(context, container);
  const { upper, lowers } = context.rootfs.layout(container.id, container.layerIds);
  using own = openRoot(upper);
  using below = openLowers(context, lowers);
  failpoint('containers.changes.compare');
  const changes = await context.archives.changes({
    upper: own.fd,
    merged: merged.fd,
    lower: below?.fd,
  });
  return changes.map(changeView);
}

function openLowers(context: ContainerContext, lowers: readonly string[]): OpenFile | undefined {
  return lowers.length === 0 ? undefined : context.mounts.hiddenView(lowers);
}

/** The same as the tar of a layer, in a file without a name. */
export async function spoolChanges(
  context: ContainerContext,
  container: Container,
  signal: AbortSignal,
): Promise<ChangesTar> {
  using merged = await openBareRoot(context, container);
  const { upper, lowers } = context.rootfs.layout(container.id, container.layerIds);
  using own = openRoot(upper);
  using below = openLowers(context, lowers);
  failpoint('containers.commit.layer');
  const request = { upper: own.fd, merged: merged.fd, lower: below?.fd };
  return await context.tarSpools.ofChanges(request, signal);
}

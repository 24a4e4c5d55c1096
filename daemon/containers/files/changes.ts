import type { ContainerChange } from '../../../api/types/container.ts';
import { changeView } from '../../../storage/files/changes.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot, type OpenFile } from '../../base/kernel/safepath.ts';
import type { ContainerContext } from '../context.ts';
import { openBareRoot } from './export.ts';
import type { Container } from '../state/container.ts';
import type { SpooledTar } from './ports.ts';

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

/** What a container changed of its image's files, as the tar of a layer. */
export interface Snapshot extends AsyncDisposable {
  readonly fd: number;
  readonly size: number;
  readonly isEmpty: boolean;
}

/** Writes the tar on a worker thread into a file without a name. Disposing gives the disk its space back. */
export async function snapshot(
  context: ContainerContext,
  container: Container,
  signal: AbortSignal,
): Promise<Snapshot> {
  using merged = await openBareRoot(context, container);
  const { upper, lowers } = context.rootfs.layout(container.id, container.layerIds);
  using own = openRoot(upper);
  using below = lowers.length === 0 ? undefined : context.mounts.hiddenView(lowers);
  failpoint('containers.commit.layer');
  let changes = 0;
  const request = { upper: own.fd, merged: merged.fd, lower: below?.fd };
  const tar: SpooledTar = await context.tarSpools.written(async (fd) => {
    const written = await context.archives.layerFile(request, fd, signal);
    changes = written.changes;
    return written.bytes;
  });
  return {
    fd: tar.fd,
    size: tar.size,
    isEmpty: changes === 0,
    [Symbol.asyncDispose]: () => tar[Symbol.asyncDispose](),
  };
}

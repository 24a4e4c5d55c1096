import type { ContainerChange } from '../../../api/types/container.ts';
import { changeView, type ChangesRequest } from '../../../storage/files/changes.ts';
import { canonicalPath } from '../../../storage/files/path-handle.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import type { FilesView } from '../../../storage/files/view.ts';
import { errnoOf } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { openRoot } from '../../base/kernel/files/safepath.ts';
import type { ContainerContext } from '../context.ts';
import { openBareRoot, openEndedRoot } from './export.ts';
import type { Container } from '../state/container.ts';

type MountPoints = NonNullable<ChangesRequest['mountPoints']>;

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
  mountPoints: MountPoints = {},
): Promise<ChangesTar> {
  return await withRoots(context, container, async (request) => {
    failpoint('containers.commit.layer');
    const points = container.spec.ofCommand ? withoutLinks(request.lower, mountPoints) : mountPoints;
    return await context.tarSpools.ofChanges({ ...request, mountPoints: points }, signal);
  });
}

/** With the places where the runtime really mounts, as it follows links of the image, and all above these. */
function withoutLinks(lower: number | undefined, mountPoints: MountPoints): MountPoints {
  const all: Record<string, 'directory' | 'file'> = { ...mountPoints };
  if (lower === undefined) {
    return all;
  }
  const view = { root: lower, isReadOnly: true, mounts: [], empty: lower };
  for (const [path, kind] of Object.entries(mountPoints)) {
    const place = placeOf(view, path);
    if (place !== path && all[place] === undefined) {
      all[place] = kind;
      for (let end = place.lastIndexOf('/'); end > 0; end = place.lastIndexOf('/', end - 1)) {
        all[place.slice(0, end)] ??= 'directory';
      }
    }
  }
  return all;
}

function placeOf(view: FilesView, path: string): string {
  try {
    return canonicalPath(view, path);
  } catch (error) {
    if (['ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes(errnoOf(error) ?? '')) {
      return path;
    }
    throw error;
  }
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
  return await work({
    upper: own.fd,
    merged: merged.fd,
    lower: below?.fd,
    ...(container.spec.ofCommand && { isPlain: true }),
  });
}

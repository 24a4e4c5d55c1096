import type { OciMount } from '../../../runtime/runc/spec-types.ts';
import { EngineError } from '../../base/errors.ts';
import { toText } from '../../../storage/files/view.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { ownMounts } from '../oci/mounts.ts';
import { containerFiles } from '../resources/container-files.ts';
import { networkOwnerId } from '../resources/namespace-owner.ts';

/** Volumes, binds, tmpfs and the engine's files in /etc, as a start would mount them; parents before children. */
export function containerMounts(
  context: ContainerContext,
  container: Container,
  subpaths: ReadonlyMap<string, string>,
): OciMount[] {
  const { dataRoot, volumePaths, facts } = context;
  // With another container's network its names come too.
  const files = containerFiles(dataRoot, networkOwnerId(context, container));
  return ownMounts(container.spec, {
    files,
    volumePaths,
    subpaths,
    recursiveReadOnly: facts.recursiveReadOnly,
  });
}

/** Throws dockerd's texts when the configuration says that nothing may be written at `path` (without links, bytes). */
export function refuseReadOnlyPath(context: ContainerContext, container: Container, path: string): void {
  const text = toText(path);
  const mount = containerMounts(context, container, new Map()).findLast(
    ({ destination }) => text === destination || text.startsWith(`${destination}/`),
  );
  if (mount === undefined && container.spec.hostConfig.ReadonlyRootfs) {
    throw new EngineError('forbidden', 'container rootfs is marked read-only');
  }
  if (mount?.options?.some((option) => option === 'ro' || option === 'rro') === true) {
    throw new EngineError('forbidden', 'mounted volume is marked read-only');
  }
}

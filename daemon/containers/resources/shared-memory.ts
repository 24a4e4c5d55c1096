import { mkdirSync } from 'node:fs';
import { errorText, internal, invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { Rollback } from '../../base/rollback.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import { runningNamespaceOwner } from './namespace-owner.ts';
import { containerFiles } from './container-files.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import { containerOfMode } from '../request/namespaces.ts';

/**
 * A container whose IPC namespace others may join keeps its shared memory on the host, where they find it: a tmpfs at
 * `<directory>/shm`, bound to /dev/shm inside. One that joined has a bind of its owner's there, and so can be joined
 * itself, also when its owner is long gone. Made by each start, taken away after each exit.
 */

/** Whether the host holds a mount for this container's /dev/shm. Pure. */
export function keepsSharedMemory({ hostConfig, mounts }: ContainerSpec): boolean {
  const { IpcMode } = hostConfig;
  const isShared = IpcMode === 'shareable' || containerOfMode(IpcMode) !== undefined;
  // A mount of the client's own in its place is seen by the container alone.
  return isShared && !mounts.some(({ destination }) => destination === '/dev/shm' || destination === '/dev');
}

/** Mounts the container's shared memory at start. Throws not_found, conflict or invalid_argument for its owner. */
export async function prepareSharedMemory(
  context: ContainerContext,
  container: Container,
  rollback: Rollback,
): Promise<void> {
  const { mounts } = context;
  const { IpcMode, ShmSize } = container.spec.hostConfig;
  const namespaceOwnerId = containerOfMode(IpcMode);
  // Asked also when nothing is to be bound: the namespace is joined all the same.
  const ownersDirectory =
    namespaceOwnerId === undefined ? undefined : sharedMemoryOf(context, namespaceOwnerId);
  if (!keepsSharedMemory(container.spec)) {
    return;
  }
  const target = mountPoint(context, container);
  failpoint('containers.start.shm');
  rollback.defer('unmount shared memory', () => mounts.unmount(target));
  if (ownersDirectory === undefined) {
    await mounts.tmpfs(target, { source: 'shm', sizeBytes: ShmSize, mode: 0o1777 });
  } else {
    // Nothing was awaited since the look at the owner, and its mount goes only after its exit was settled.
    await mounts.bind(ownersDirectory, target);
  }
}

/** Takes it away after an exit. */
export async function releaseSharedMemory(context: ContainerContext, container: Container): Promise<void> {
  if (keepsSharedMemory(container.spec)) {
    await context.mounts.unmount(containerFiles(context.dataRoot, container.id).sharedMemory);
  }
}

function mountPoint({ dataRoot }: ContainerContext, { id }: Container): string {
  const { sharedMemory } = containerFiles(dataRoot, id);
  try {
    mkdirSync(sharedMemory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw internal(`make ${sharedMemory}: ${errorText(error)}`, { cause: error });
  }
  return sharedMemory;
}

/** Where on the host a running container's shared memory is. */
function sharedMemoryOf(context: ContainerContext, namespaceOwnerId: string): string {
  const { container } = runningNamespaceOwner(context, namespaceOwnerId, 'ipc');
  if (container.spec.hostConfig.IpcMode === 'host') {
    return '/dev/shm';
  }
  if (!keepsSharedMemory(container.spec)) {
    throw invalidArgument(
      `can't join IPC of container ${namespaceOwnerId}: ` +
        'non-shareable IPC (hint: use IpcMode:shareable for the donor container)',
    );
  }
  return containerFiles(context.dataRoot, namespaceOwnerId).sharedMemory;
}

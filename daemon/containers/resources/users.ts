import type { ImageUser } from '../../images/deps.ts';
import type { ContainerIndex } from '../state/container-index.ts';
import { isLive } from '../state/state-facts.ts';
import { imageMounts } from './image-mounts.ts';
import { volumeNames } from './volumes.ts';

/** Containers that were made of this image, and those that mount it. */
export function imageUsers(registry: ContainerIndex, imageId: string): ImageUser[] {
  return registry
    .all()
    .filter(
      (container) =>
        container.imageId === imageId || imageMounts(container).some((mount) => mount.imageId === imageId),
    )
    .map(({ id, name, state }) => ({ id, name, running: isLive(state) }));
}

/** Ids of the containers, running or not, that mount this volume. */
export function volumeUsers(registry: ContainerIndex, volumeName: string): string[] {
  return registry
    .all()
    .filter((container) => volumeNames(container).includes(volumeName))
    .map(({ id }) => id);
}

/** Ids of those that run with it. */
export function liveVolumeUsers(registry: ContainerIndex, volumeName: string): string[] {
  return registry
    .all()
    .filter((container) => isLive(container.state) && volumeNames(container).includes(volumeName))
    .map(({ id }) => id);
}

/** Ids of the containers, running or not, that are or are to be in this network. */
export function networkUsers(registry: ContainerIndex, networkName: string): string[] {
  return registry
    .all()
    .filter(({ spec }) => Object.hasOwn(spec.networking, networkName))
    .map(({ id }) => id);
}

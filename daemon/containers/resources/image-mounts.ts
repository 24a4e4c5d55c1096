import { internal, notFound } from '../../base/errors.ts';
import type { ResolvedImage } from '../../images/images.ts';
import type { Container } from '../state/container.ts';
import type { ContainerContext } from '../context.ts';
import type { ContainerSpec } from '../request/container-spec.ts';
import type { ImageMount } from '../request/mounts/resolved-mount.ts';
import { abridged } from '../request/refuse.ts';

/** The images that a container sees at places of their own (`type=image`). */
export function imageMounts({ spec }: Pick<Container, 'spec'>): ImageMount[] {
  return spec.mounts.filter((mount): mount is ImageMount => mount.type === 'image');
}

/** Keeps the layers of these images until disposed: until a row, or a mount, has them. */
export function pinImages(context: ContainerContext, spec: ContainerSpec): Disposable {
  const pins = imageMounts({ spec }).map((mount) => context.images.pin(imageOf(context, mount).layerIds));
  return { [Symbol.dispose]: () => pins.forEach((pin) => pin[Symbol.dispose]()) };
}

/**
 * The layer directories of a mounted image, topmost first; none for an image without layers. Throws not_found when it
 * was removed by force meanwhile, internal when its files are lost.
 */
export function lowersOfImage(context: ContainerContext, mount: ImageMount): string[] {
  const { layerIds } = imageOf(context, mount);
  const lost = context.images.lostLayers(layerIds);
  if (lost.length > 0) {
    throw internal(
      `the files of image ${abridged(mount.image)} are incomplete (${lost.join(', ')}): pull or load it again`,
    );
  }
  return context.rootfs.lowers(layerIds);
}

function imageOf({ images }: ContainerContext, { image, imageId, destination }: ImageMount): ResolvedImage {
  try {
    return images.resolve(imageId);
  } catch (error) {
    throw notFound(
      `No such image: ${abridged(image)} (${imageId}), which is to be mounted at ${destination}`,
      {
        cause: error,
      },
    );
  }
}

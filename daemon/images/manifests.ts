import { createHash } from 'node:crypto';
import type { ImageDescriptor, ImageIdentity, ImageManifest, OciPlatform } from '../../api/types/image.ts';
import type { ImageContext } from './context.ts';
import type { ImageIndex, ImageRecord } from './image-index.ts';
import { MANIFEST_TYPE, manifestBytes } from './push/manifest-bytes.ts';

/** Digests and sizes of manifests: a list of images would hash each of them again. Gone with the image. */
const DESCRIPTORS = new WeakMap<ImageRecord, { digest: string; size: number }>();

/**
 * The manifest of an image: the one that a push into the hub of this host stores, with its layers as plain tars, which
 * is how the engine can give them. It keeps no blobs but the configuration: the content of layers is their files. None
 * of an image of which layers are lost.
 */
export function manifestsOf(
  context: ImageContext,
  image: ImageRecord,
  { identity }: { identity: boolean },
): ImageManifest[] {
  const descriptor = manifestDescriptor(context, image);
  return descriptor === undefined ? [] : [imageManifest(context, image, { descriptor, identity })];
}

/** Of that manifest. */
export function manifestDescriptor(context: ImageContext, image: ImageRecord): ImageDescriptor | undefined {
  return context.index.lostOf(image.row.layerIds).length > 0
    ? undefined
    : { mediaType: MANIFEST_TYPE, ...descriptorOf(context, image), platform: platformOf(image) };
}

/** How an image with this manifest is shown. */
export function imageManifest(
  context: ImageContext,
  image: ImageRecord,
  { descriptor, identity }: { descriptor: ImageManifest['Descriptor']; identity: boolean },
): ImageManifest {
  const { row } = image;
  const content = row.config.length;
  return {
    ID: descriptor.digest,
    Descriptor: descriptor,
    Available: true,
    Size: { Content: content, Total: content + row.sizeBytes },
    Kind: 'image',
    ImageData: {
      Platform: platformOf(image),
      ...(identity && identityOf(context.index, row.id)),
      Size: { Unpacked: row.sizeBytes },
      Containers: context.users(row.id).map(({ id }) => id),
    },
  };
}

/** Where an image was pulled from or pushed to; nothing where that is nowhere. Signatures are not checked here. */
export function identityOf(index: ImageIndex, imageId: string): { Identity?: ImageIdentity } {
  const repositories = new Set(
    index.digestsOf(imageId).flatMap(({ repository, isOwn }) => (isOwn === true ? [] : [repository])),
  );
  return repositories.size === 0
    ? {}
    : { Identity: { Pull: [...repositories].map((Repository) => ({ Repository })) } };
}

/** What its manifest is called: the hub of this host would call it so. */
export function descriptorOf(
  { index, layers }: ImageContext,
  image: ImageRecord,
): { digest: string; size: number } {
  const known = DESCRIPTORS.get(image);
  if (known !== undefined) {
    return known;
  }
  const { row } = image;
  const bytes = manifestBytes(
    { digest: row.id, sizeBytes: row.config.length },
    row.layerIds.map((id) => ({
      digest: index.layer(id).diffId,
      sizeBytes: layers.tarBytes(id),
      isTar: true,
    })),
  );
  const descriptor = {
    digest: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
    size: bytes.length,
  };
  DESCRIPTORS.set(image, descriptor);
  return descriptor;
}

/** That an image says of itself. Pure. */
export function platformOf({ config }: ImageRecord): OciPlatform {
  return {
    architecture: config.architecture,
    os: config.os,
    ...(config.osVersion !== '' && { 'os.version': config.osVersion }),
    ...(config.variant !== '' && { variant: config.variant }),
  };
}

import type { ImageDescriptor, ImageManifest } from '../../../api/types/image.ts';
import type { ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import type { Descriptor } from '../../../storage/image/descriptor.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
import { imageManifest, manifestDescriptor, manifestsOf } from '../manifests.ts';
import {
  describeListed,
  listDescriptor,
  shownDescriptorOf,
  statementsDescriptor,
  toldDescriptor,
} from './describe.ts';

/**
 * The manifests of what a name means: those of all images of its list, and what is said of each; of an image alone its
 * own. Without the images of which layers are lost.
 */
export function shownManifests(
  context: ImageContext,
  image: ImageRecord,
  { list, identity }: { list: ManifestListRow | undefined; identity: boolean },
): ImageManifest[] {
  if (list?.index !== undefined) {
    return list.index.manifests.map((told) => shownTold(context, list, told, identity));
  }
  return list === undefined
    ? manifestsOf(context, image, { identity })
    : list.images.flatMap((listed) => {
        const each = context.index.get(listed.imageId);
        if (each === undefined || context.index.lostOf(each.row.layerIds).length > 0) {
          return [];
        }
        const { isOci } = list;
        const { descriptor } = describeListed(context, each, { ...listed, isOci });
        const said = statementsDescriptor(listed, descriptor.digest, isOci);
        return [
          imageManifest(context, each, { descriptor, identity }),
          ...(said === undefined ? [] : [attestationManifest(said, descriptor.digest)]),
        ];
      });
}

/**
 * What a name means: its list, or the manifest of its image, also where that is asked for by its platform. Undefined
 * where layers of it are lost.
 */
export function shownDescriptor(
  context: ImageContext,
  image: ImageRecord,
  { list, isByPlatform }: { list: ManifestListRow | undefined; isByPlatform: boolean },
): ImageDescriptor | undefined {
  if (list !== undefined && !isByPlatform) {
    return listDescriptor(context, list);
  }
  const listed = list?.images.find(({ imageId }) => imageId === image.row.id);
  return list === undefined || listed === undefined
    ? manifestDescriptor(context, image)
    : shownDescriptorOf(context, list, listed);
}

/** The same in a list of images: one that is damaged hides no other. */
export function summaryDescriptor(context: ImageContext, image: ImageRecord): ImageDescriptor | undefined {
  try {
    const list = listOfNames(context, image.row.id);
    return shownDescriptor(context, image, { list, isByPlatform: false });
  } catch (error) {
    context.log.warn({ err: error, image: image.row.id }, 'the manifest of an image cannot be told');
    return undefined;
  }
}

/** What a registry's index names, here or not. */
function shownTold(
  context: ImageContext,
  { images }: ManifestListRow,
  told: Descriptor,
  identity: boolean,
): ImageManifest {
  const descriptor = toldDescriptor(told);
  const { 'vnd.docker.reference.type': type, 'vnd.docker.reference.digest': about = '' } = told.annotations;
  if (type === 'attestation-manifest') {
    const isHere = images.some(({ statements }) => statements?.digest === told.digest);
    const size = isHere ? told.size : 0;
    return {
      ...attestationManifest(descriptor, about),
      Available: isHere,
      Size: { Content: size, Total: size },
    };
  }
  const listed = images.find(({ manifest }) => manifest === told.digest);
  const image = context.index.get(listed?.imageId ?? '');
  const isWhole = image !== undefined && context.index.lostOf(image.row.layerIds).length === 0;
  const { platform = { os: '', architecture: '' } } = told;
  return isWhole
    ? imageManifest(context, image, { descriptor, identity })
    : {
        ID: told.digest,
        Descriptor: descriptor,
        Available: false,
        Size: { Content: 0, Total: 0 },
        Kind: 'image',
        ImageData: { Platform: platform, Size: { Unpacked: 0 }, Containers: [] },
      };
}

/** The list that the names of an image mean: that of the first name which means one, or of the image without a name. */
export function listOfNames({ index }: ImageContext, imageId: string): ManifestListRow | undefined {
  const tags = index.tagsOf(imageId);
  const [named] = tags.flatMap(({ list }) => (list === undefined ? [] : (index.lists.get(list) ?? [])));
  return named ?? (tags.length === 0 ? index.lists.of(imageId)[0] : undefined);
}

/** The statements are kept as they were made: their documents are made again for who wants them. */
function attestationManifest(descriptor: ImageManifest['Descriptor'], about: string): ImageManifest {
  return {
    ID: descriptor.digest,
    Descriptor: descriptor,
    Available: true,
    Size: { Content: descriptor.size, Total: descriptor.size },
    Kind: 'attestation',
    AttestationData: { For: about },
  };
}

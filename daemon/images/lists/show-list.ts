import type { ImageDescriptor, ImageManifest } from '../../../api/types/image.ts';
import type { ManifestListRow } from '../../../storage/database/rows.ts';
import type { ImageContext } from '../context.ts';
import type { ImageRecord } from '../image-index.ts';
import { imageManifest, manifestDescriptor, manifestsOf } from '../manifests.ts';
import { describeListed, listDescriptor, statementsDescriptor } from './describe.ts';

/**
 * The manifests of what a name means: those of all images of its list, and what is said of each; of an image alone its
 * own. Without the images of which layers are lost.
 */
export function shownManifests(
  context: ImageContext,
  image: ImageRecord,
  { list, identity }: { list: ManifestListRow | undefined; identity: boolean },
): ImageManifest[] {
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
    : describeListed(context, image, { ...listed, isOci: list.isOci }).descriptor;
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

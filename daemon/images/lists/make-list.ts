import type {
  DocumentAnnotations,
  ListedImage,
  ManifestListRow,
} from '../../../storage/database/manifest-list-rows.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';
import type { Reference } from '../../../storage/references/reference.ts';
import { failpoint } from '../../base/failpoint.ts';
import { invariant } from '../../base/errors.ts';
import type { ImageContext } from '../context.ts';
import { nameImage } from '../naming.ts';
import { attestationsText } from './attestations.ts';
import { describeListed, manifestList, statementsAbout } from './describe.ts';

/** An image that is here, for a list, and what is said of it. */
export interface NewListed {
  imageId: string;
  attestations: readonly Attestation[];
  /** Of its manifest. */
  annotations?: DocumentAnnotations | undefined;
}

/** What is said of all images of a list together. */
export interface ListFacts {
  /** Also without statements and annotations, which need it, the media types of the OCI image specification. */
  isOci: boolean;
  /** One image with a manifest, without an index. */
  isAlone: boolean;
  /** Of the index. */
  annotations: DocumentAnnotations | undefined;
}

/**
 * Stores the list of some images and gives it names, which mean the image for this host where no platform is asked for,
 * or the first. One transaction for the list, one for the names: without them it goes with that image.
 */
export function makeList(
  context: ImageContext,
  images: readonly NewListed[],
  { names, said, ...facts }: ListFacts & { names: readonly Reference[]; said: readonly string[] },
): ManifestListRow {
  const { index, database, journal } = context;
  const { annotations } = facts;
  const isOci = facts.isOci || annotations !== undefined || images.some((each) => needsOci(each));
  const list = manifestList(context, {
    isOci,
    ...(facts.isAlone && { isAlone: true }),
    ...(annotations && { annotations }),
    imageId: meantOf(context, images),
    names: [...said],
    images: images.map((each) => listedImage(context, each, { names: said, isOci })),
  });
  journal.commit(
    () => {
      failpoint('images.list.commit');
      if (index.lists.get(list.id)?.index !== undefined) {
        // The hub of this host had given it back: it was not whole.
        database.manifestLists.remove(list.id);
      }
      database.manifestLists.insert(
        list,
        images.map(({ attestations }) => attestationsText(attestations)),
      );
    },
    { durable: true },
  );
  index.lists.replace(list);
  failpoint('images.list.name');
  nameImage(context, list.imageId, names, list.id);
  return list;
}

/** Docker's media types have nothing for either. */
function needsOci({ attestations, annotations }: NewListed): boolean {
  return attestations.length > 0 || annotations !== undefined;
}

function meantOf({ index }: ImageContext, images: readonly NewListed[]): string {
  const { os, architecture } = hostPlatform();
  const [first] = images;
  invariant(first !== undefined, 'a list without an image');
  const own = images.find(({ imageId }) => {
    const { config } = index.find(imageId);
    return config.os === os && config.architecture === architecture;
  });
  return (own ?? first).imageId;
}

function listedImage(
  context: ImageContext,
  { imageId, attestations, annotations }: NewListed,
  { names, isOci }: { names: readonly string[]; isOci: boolean },
): ListedImage {
  const image = context.index.find(imageId);
  const { digest } = describeListed(context, image, { isOci, annotations }).descriptor;
  const said = statementsAbout(image, attestations, { names, digest, isOci });
  return {
    imageId,
    ...(annotations && { annotations }),
    ...(said && { statements: { digest: said.descriptor.digest, sizeBytes: said.descriptor.size } }),
  };
}

import type { ImagePlatform } from '../../../api/types/image.ts';
import type { ListedImage, ManifestListRow } from '../../../storage/database/manifest-list-rows.ts';
import type { TagRow } from '../../../storage/database/rows.ts';
import { canonicalRepository, tryParseReference } from '../../../storage/references/reference.ts';
import type { ImageIndex, ImageRecord } from '../image-index.ts';
import { imagesFor } from '../platform-asked.ts';
import { tagName } from '../image-index.ts';

/** What is saved under the same names. */
export interface Chosen {
  images: ImageRecord[];
  /** That which stands for the names where no platform is asked for. */
  meant: ImageRecord;
  /** That they are of; undefined = one image alone. */
  list: ManifestListRow | undefined;
  /** It is an image alone, of a list or not: what is said of it is left. */
  isAlone: boolean;
  /** None: it was asked for by its id. */
  tags: TagRow[];
}

/**
 * What clients ask to be saved, those of one image or list together; a repository without a tag means all its tags.
 * With platforms the images for these. Throws not_found for a name or a platform of which there is none, also where
 * layers of an image are lost.
 */
export function chooseImages(
  index: ImageIndex,
  refs: readonly string[],
  platforms: readonly ImagePlatform[],
): Chosen[] {
  const chosen = new Map<string, Chosen>();
  for (const ref of refs) {
    for (const { text, tag } of namedBy(index, ref)) {
      const one = chooseOne(index, text, platforms);
      const key = [one.list?.id ?? '', ...one.images.map(({ row }) => row.id)].join(' ');
      const known = chosen.get(key) ?? one;
      chosen.set(key, known);
      if (tag !== undefined && !known.tags.includes(tag)) {
        known.tags.push(tag);
      }
    }
  }
  return [...chosen.values()];
}

function chooseOne(index: ImageIndex, text: string, platforms: readonly ImagePlatform[]): Chosen {
  const list = index.listNamed(text);
  const images =
    list === undefined || platforms.length > 0
      ? [...imagesFor(index, text, platforms)]
      : list.images.flatMap(({ imageId }) => index.get(imageId) ?? []);
  const whole = images.map((image) => index.whole(image, text));
  const meant = whole.find(({ row }) => row.id === list?.imageId) ?? whole[0] ?? index.findWhole(text);
  // One that was chosen by its platform is saved without the others, as is one of a registry's that is all there is.
  const isAll = list?.index !== undefined && listedAs(list, meant)?.statements === undefined;
  const isAlone =
    list === undefined || list.isAlone === true || ((platforms.length > 0 || isAll) && images.length === 1);
  const isPlain = isAlone && listedAs(list, meant)?.annotations === undefined && list?.isAlone !== true;
  return { images: whole, meant, list: isPlain ? undefined : list, isAlone, tags: [] };
}

/** What a list has of an image. Pure. */
export function listedAs(list: ManifestListRow | undefined, { row }: ImageRecord): ListedImage | undefined {
  return list?.images.find(({ imageId }) => imageId === row.id);
}

function namedBy(index: ImageIndex, ref: string): { text: string; tag: TagRow | undefined }[] {
  const reference = tryParseReference(ref);
  if (reference !== undefined && reference.digest === undefined) {
    const tags =
      reference.tag === undefined
        ? index.tagsIn(canonicalRepository(reference))
        : [index.tag(reference)].filter((tag) => tag !== undefined);
    if (tags.length > 0) {
      return tags.map((tag) => ({ text: tagName(tag), tag }));
    }
  }
  return [{ text: ref, tag: undefined }];
}

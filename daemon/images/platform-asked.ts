import type { ImagePlatform } from '../../api/types/image.ts';
import type { ManifestListRow } from '../../storage/database/manifest-list-rows.ts';
import { notFound } from '../base/errors.ts';
import { formatPlatform } from '../../storage/image/platform.ts';
import type { ImageIndex, ImageRecord } from './image-index.ts';

/** True when what is asked for is what the image says of itself; a part that is not asked for fits any. Pure. */
export function isForPlatform(
  { os, architecture, variant }: { os: string; architecture: string; variant: string },
  asked: ImagePlatform,
): boolean {
  return (
    (asked.os === undefined || asked.os === os) &&
    (asked.architecture === undefined || asked.architecture === architecture) &&
    (asked.variant === undefined || variant === '' || asked.variant === variant)
  );
}

/**
 * The image that a client's text means for a platform, or where none is asked for. Throws not_found for text that names
 * none, and where there is none for the platform.
 */
export function imageFor(index: ImageIndex, text: string, asked: ImagePlatform | undefined): ImageRecord {
  const image = index.find(text);
  const found =
    asked === undefined ? image : ofPlatform(index, { image, list: index.listNamed(text) }, asked);
  if (asked !== undefined && found === undefined) {
    throw otherPlatform(text, asked, image.config);
  }
  return found ?? image;
}

/**
 * Those that are here for any of these platforms, each once; none asked for = the one that the text means. Throws
 * not_found where there are none.
 */
export function imagesFor(
  index: ImageIndex,
  text: string,
  asked: readonly ImagePlatform[],
): readonly ImageRecord[] {
  const image = index.find(text);
  const [first] = asked;
  if (first === undefined) {
    return [image];
  }
  const list = index.listNamed(text);
  const found = asked.flatMap((platform) => ofPlatform(index, { image, list }, platform) ?? []);
  if (found.length === 0) {
    throw otherPlatform(text, first, image.config);
  }
  return [...new Set(found)];
}

/** Of an image and those of the list that is meant beside it the one for a platform. */
export function ofPlatform(
  index: ImageIndex,
  { image, list }: { image: ImageRecord; list: ManifestListRow | undefined },
  asked: ImagePlatform,
): ImageRecord | undefined {
  const listed = (list?.images ?? []).flatMap(({ imageId }) => index.get(imageId) ?? []);
  return [image, ...listed].find(({ config }) => isForPlatform(config, asked));
}

/** `own.variant`: `''` where the image tells none. */
export function otherPlatform(
  ref: string,
  asked: ImagePlatform,
  own: { os: string; architecture: string; variant?: string },
): Error {
  return notFound(
    `image with reference ${ref} was found but its platform (${platformText(own)}) does not match the specified ` +
      `platform (${platformText(asked)})`,
  );
}

function platformText({ os = 'linux', architecture = '', variant = '' }: ImagePlatform): string {
  return formatPlatform({ os, architecture, ...(variant !== '' && { variant }) });
}

import type { ImagePlatform } from '../../api/types/image.ts';
import { notFound } from '../base/errors.ts';
import { formatPlatform } from '../../storage/image/platform.ts';
import type { ImageRecord } from './image-index.ts';

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

/** An image here is of one platform: another one than it is for throws not_found. */
export function refuseOtherPlatform(
  { config }: ImageRecord,
  ref: string,
  asked: ImagePlatform | undefined,
): void {
  if (asked !== undefined && !isForPlatform(config, asked)) {
    throw otherPlatform(ref, asked, config);
  }
}

/** As `refuseOtherPlatform`, with several to choose from: one of them must be its own. */
export function refuseOtherPlatforms(image: ImageRecord, asked: readonly ImagePlatform[]): void {
  const [first] = asked;
  if (first !== undefined && !asked.some((platform) => isForPlatform(image.config, platform))) {
    throw otherPlatform(image.row.id, first, image.config);
  }
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

import { hostPlatform } from '../../../storage/image/platform.ts';
import { familiarName, parseReference, withDefaultTag } from '../../../storage/references/reference.ts';
import { invalidArgument, isEngineError, type EngineError } from '../../base/errors.ts';
import type { ImageIndex, ImageRecord } from '../image-index.ts';
import type { Build } from './state.ts';

/**
 * An image by name or id, held for this build: what is here is taken unless the client asked to pull. What is here for
 * another platform is refused, or with `other` left as it is: the platform's own image is then pulled beside it,
 * without a name, and `other` is told its digest.
 */
export async function resolveImage(
  build: Pick<Build, 'images' | 'hold' | 'auth' | 'signal' | 'pull'> & {
    request: Pick<Build['request'], 'pull'>;
    other?: (digest: string) => void;
    progress: Pick<Build['progress'], 'send'>;
  },
  ref: string,
  platform: string,
): Promise<ImageRecord> {
  const { index } = build.images;
  const held = (image: ImageRecord): ImageRecord => {
    build.hold(image.row.id);
    return image;
  };
  const { other } = build;
  let isOther =
    other !== undefined && !isFor(platform, { os: 'linux', architecture: hostPlatform().architecture });
  if (!build.request.pull) {
    try {
      const image = index.findWhole(ref);
      const own = fittingImage(index, ref, platform);
      if (own !== undefined) {
        return held(index.whole(own, ref));
      }
      if (other === undefined) {
        throw otherPlatform(image, ref, platform);
      }
      isOther = true;
    } catch (error) {
      if (!isEngineError(error, 'not_found')) {
        throw error;
      }
    }
  }
  // One image and not all of its repository, as for a client that asks without a tag.
  const reference = withDefaultTag(parseReference(ref));
  const options = {
    name: familiarName(reference),
    auth: await build.auth(reference.domain),
    signal: build.signal,
    ...(platform !== '' && { platform }),
  };
  let id = '';
  const unnamed = (imageId: string, digest: string): void => {
    id = imageId;
    other?.(digest);
  };
  for await (const message of build.pull({ ...options, ...(isOther && { unnamed }) })) {
    build.progress.send(message);
  }
  return held(isOther ? index.find(id) : (fittingImage(index, ref, platform) ?? index.find(ref)));
}

/** Of what a name means here the image for a platform. */
function fittingImage(index: ImageIndex, ref: string, platform: string): ImageRecord | undefined {
  const listed = index.listNamed(ref)?.images.flatMap(({ imageId }) => index.get(imageId) ?? []) ?? [];
  const fitting = [index.find(ref), ...listed].filter(({ config }) => isFor(platform, config));
  const [, , variant = ''] = platform.toLowerCase().split('/');
  return fitting.find(({ config }) => config.variant === variant) ?? fitting[0];
}

function isFor(
  platform: string,
  { os, architecture }: Pick<ImageRecord['config'], 'os' | 'architecture'>,
): boolean {
  const [wantedOs = '', wanted = hostPlatform().architecture] = platform.toLowerCase().split('/');
  return platform === '' || (wantedOs === os && wanted === architecture);
}

function otherPlatform({ config }: ImageRecord, ref: string, platform: string): EngineError {
  return invalidArgument(
    `image with reference ${ref} was found but does not match the specified platform: wanted ${platform}, ` +
      `actual: ${config.os}/${config.architecture}`,
  );
}

import { hostPlatform } from '../../../storage/image/platform.ts';
import { familiarName, parseReference, withDefaultTag } from '../../../storage/references/reference.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import type { ImageRecord } from '../image-index.ts';
import type { Build } from './state.ts';

/** An image by name or id, held for this build: what is here is taken unless the client asked to pull. */
export async function resolveImage(
  build: Pick<Build, 'images' | 'hold' | 'auth' | 'signal' | 'pull'> & {
    request: Pick<Build['request'], 'pull'>;
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
  if (!build.request.pull) {
    try {
      return held(refuseOtherPlatform(index.findWhole(ref), ref, platform));
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
  for await (const message of build.pull(options)) {
    build.progress.send(message);
  }
  return held(index.find(ref));
}

function refuseOtherPlatform(image: ImageRecord, ref: string, platform: string): ImageRecord {
  const [os = '', architecture = hostPlatform().architecture] = platform.toLowerCase().split('/');
  if (platform !== '' && (os !== image.config.os || architecture !== image.config.architecture)) {
    throw invalidArgument(
      `image with reference ${ref} was found but does not match the specified platform: wanted ${platform}, ` +
        `actual: ${image.config.os}/${image.config.architecture}`,
    );
  }
  return image;
}

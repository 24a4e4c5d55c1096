import type { ContainerConfig } from '../../../../api/types/container.ts';
import { invalidArgument, isEngineError } from '../../../base/errors.ts';
import { shortId } from '../../../base/ids.ts';
import { familiarName, parseReference, withDefaultTag } from '../../../../storage/references/reference.ts';
import { hostPlatform } from '../../../../storage/image/platform.ts';
import type { ImageRecord } from '../../image-index.ts';
import { runConfig } from '../../wire.ts';
import { expandText } from '../../../base/dockerfile/words.ts';
import type { Stage } from '../dockerfile/stages.ts';
import type { Build, StageState } from '../state.ts';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Begins a stage on its base: nothing, an earlier stage, or an image, pulled when it is not here. */
export async function fromStep(build: Build, stage: Stage): Promise<StageState> {
  const where = `Dockerfile line ${stage.from.line}: FROM`;
  const variables = build.args.globals;
  const base = expandText(stage.base, { variables, where, escape: build.escape });
  if (base === '') {
    throw invalidArgument(`base name (${stage.base}) should not be blank`);
  }
  const platform = expandText(stage.platform, { variables, where }) || (build.request.platform ?? '');
  // By its name only: a number is an image.
  const imageId = build.stages.find(({ name }) => name !== '' && name === base.toLowerCase())?.imageId;
  const image =
    imageId === undefined
      ? base === 'scratch'
        ? undefined
        : await resolveImage(build, base, platform)
      : build.images.index.find(imageId);
  build.progress.say(` ---> ${image === undefined ? '' : shortId(image.row.id)}\n`);
  return {
    imageId: image?.row.id ?? '',
    config: baseConfig(image),
    author: '',
    hasOwnCommand: false,
  };
}

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

function baseConfig(image: ImageRecord | undefined): ContainerConfig {
  const config = runConfig(image?.config.config);
  const env = config.Env ?? [];
  return {
    ...config,
    OpenStdin: false,
    StdinOnce: false,
    Env: env.some((item) => item.startsWith('PATH=')) ? env : [...env, `PATH=${DEFAULT_PATH}`],
  };
}

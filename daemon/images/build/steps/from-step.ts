import type { ContainerConfig } from '../../../../api/types/container.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { shortId } from '../../../base/ids.ts';
import type { ImageRecord } from '../../image-index.ts';
import { runConfig } from '../../wire.ts';
import { expandText } from '../../../base/dockerfile/words.ts';
import type { Stage } from '../dockerfile/stages.ts';
import { resolveImage } from '../resolve-image.ts';
import type { Build, StageState } from '../state.ts';

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Begins a stage on its base: nothing, an earlier stage, or an image, pulled when it is not here. */
export async function fromStep(build: Build, stage: Stage): Promise<StageState> {
  const where = `Dockerfile line ${stage.from.lines.from}: FROM`;
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

import { formatPlatform, type Platform } from '../../../../storage/image/platform.ts';
import { expandText, type WordOptions } from '../../../base/dockerfile/words.ts';
import { isEngineError } from '../../../base/errors.ts';
import type { Build, Stage } from '../stages/stage.ts';

/** `[build 2/10] ` before what a step does, as BuildKit's clients expect it. Counts the step. */
export function numbered(
  { options }: Build,
  stage: Stage,
  {
    platform,
    env,
    isTrigger = false,
  }: { platform: Platform; env: ReadonlyMap<string, string>; isTrigger?: boolean },
  text: string,
): string {
  const { count, title } = stage;
  if (count.total === 0) {
    return text;
  }
  count.at += 1;
  const place = String(count.at).padStart(String(count.total).length);
  const machine = options.isMultiPlatform ? [`${formatPlatform(platform)}${crossed(platform, env)}`] : [];
  const words = [...machine, ...(title === '' ? [] : [title]), `${place}/${count.total}`];
  return `[${words.join(' ')}] ${isTrigger ? 'ONBUILD ' : ''}${text}`;
}

/** `->arm64` where a stage of one platform builds for another. */
function crossed(platform: Platform, env: ReadonlyMap<string, string>): string {
  const [os = '', architecture = '', variant = ''] = env.get('TARGETPLATFORM')?.split('/') ?? [
    env.get('TARGETOS'),
    env.get('TARGETARCH'),
    env.get('TARGETVARIANT'),
  ];
  const target = {
    os: os || platform.os,
    architecture: architecture || platform.architecture,
    ...(variant !== '' && { variant }),
  };
  if (target.os !== platform.os) {
    return `->${formatPlatform(target)}`;
  }
  return target.architecture === platform.architecture
    ? ''
    : `->${[target.architecture, variant].filter((part) => part !== '').join('/')}`;
}

/** The instruction as progress shows it. One whose variables cannot be replaced is shown as it is written. */
export function shownText(text: string, options: WordOptions): string {
  try {
    return expandText(text, options);
  } catch (error) {
    if (isEngineError(error)) {
      return text;
    }
    throw error;
  }
}

import { formatPlatform, type Platform } from '../../../../storage/image/platform.ts';
import { familiarName, tryParseReference } from '../../../../storage/references/reference.ts';
import type { BuildOptions, NamedContext } from '../options.ts';

/**
 * What the client has for a name of a stage or image: for `alpine:latest` that of `alpine`, with a platform behind
 * (`alpine::linux/arm64`) before that without. Pure.
 */
export function findContext(
  {
    contexts,
    targetPlatform,
    buildPlatform,
  }: Pick<BuildOptions, 'contexts' | 'targetPlatform' | 'buildPlatform'>,
  name: string,
  platform: Platform | undefined,
): NamedContext | undefined {
  if (/^(?:scratch|context)$/i.test(name)) {
    return undefined;
  }
  const reference = tryParseReference(name);
  if (reference === undefined) {
    return undefined;
  }
  const familiar = familiarName(reference).replace(/:latest$/, '');
  const machine = formatPlatform(platform ?? targetPlatform ?? buildPlatform);
  return contexts.get(`${familiar}::${machine}`) ?? contexts.get(familiar);
}

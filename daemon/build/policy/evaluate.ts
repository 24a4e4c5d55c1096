import { EngineError, isEngineError, notImplemented } from '../../base/errors.ts';
import type { NamedSource, SourceConversion } from './named-source.ts';

const ASKING = 'could not resolve image due to policy';

/** What a policy makes of a source, `isAsked`: that is asked for alone. Throws in BuildKit's words. Pure. */
export function evaluated(source: NamedSource, convert: SourceConversion, isAsked = false): NamedSource {
  return told(isAsked ? ASKING : 'error evaluating the source policy', () => convert(source));
}

/** The reference that is taken in place of an image's. Throws in BuildKit's words, and not_implemented for no image. */
export function convertImage(reference: string, platform: string, convert: SourceConversion): string {
  const identifier = `docker-image://${reference}`;
  const converted = evaluated({ identifier, attrs: new Map(), platform }, convert, true);
  const [, name] = /^docker-image:\/\/(.*)$/s.exec(converted.identifier) ?? [];
  if (name === undefined) {
    throw notImplemented(`ref mutated by policy to non-image: ${identifier} -> ${converted.identifier}`);
  }
  return name;
}

/**
 * The identifier of what is no image and taken in place of one; undefined = it stays an image. What denies it tells so
 * when it is asked for. Pure.
 */
export function otherThanImage(
  reference: string,
  platform: string,
  convert: SourceConversion,
): string | undefined {
  try {
    const { identifier } = convert({ identifier: `docker-image://${reference}`, attrs: new Map(), platform });
    return identifier.startsWith('docker-image://') ? undefined : identifier;
  } catch (error) {
    if (isEngineError(error, 'forbidden')) {
      return undefined;
    }
    throw error;
  }
}

/** The directory of a client's session that is taken in place of one. Throws as `convertImage`. */
export function convertDirectory(name: string, session: string, convert: SourceConversion): string {
  const source = { identifier: `local://${name}`, attrs: new Map([['local.session', session]]) };
  const { identifier } = evaluated(source, convert);
  const [, converted] = /^local:\/\/(.*)$/s.exec(identifier) ?? [];
  if (converted === undefined) {
    throw notImplemented(
      `source ${source.identifier}: a directory of the client cannot become ${identifier}`,
    );
  }
  return converted;
}

function told<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!isEngineError(error)) {
      throw error;
    }
    throw new EngineError(error.code, `${what}: ${error.message}`, { cause: error });
  }
}

import { invalidArgument } from '../daemon/base/errors.ts';
import type { Query } from './query.ts';
import type { ImagePlatform } from './types/image.ts';

/** A `platform` parameter: JSON of an OCI platform. Throws invalid_argument. */
export function platformOf(query: Query): { platform?: ImagePlatform } {
  const [platform, ...more] = platformsOf(query, 'platform');
  if (more.length > 0) {
    throw invalidArgument(`parameter platform: only one platform can be chosen, got ${more.length + 1}`);
  }
  return platform === undefined ? {} : { platform };
}

/** All values of a parameter, each JSON of an OCI platform. Throws invalid_argument. */
export function platformsOf(query: Query, name: string): ImagePlatform[] {
  return query.texts(name).map((text) => parsed(name, text));
}

function parsed(name: string, text: string): ImagePlatform {
  const wrong = (why: string): Error => invalidArgument(`parameter ${name}: ${why}, got ${text}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalidArgument(`parameter ${name}: must be JSON of a platform, got ${text}`, { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrong('must be a JSON object');
  }
  const fields = new Map(Object.entries(value));
  for (const key of ['os', 'architecture', 'variant']) {
    const part: unknown = fields.get(key);
    if (part !== undefined && typeof part !== 'string') {
      throw wrong(`${key} must be a string`);
    }
  }
  const word = (key: string): string => String(fields.get(key) ?? '');
  if (word('os') === '' || word('architecture') === '') {
    throw wrong('both os and architecture must be given');
  }
  return {
    os: word('os'),
    architecture: word('architecture'),
    ...(word('variant') !== '' && { variant: word('variant') }),
  };
}

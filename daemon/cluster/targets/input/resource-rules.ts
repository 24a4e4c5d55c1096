import type { Fields } from './fields.ts';

/** Tags of a group, service or listener. */
export type Tags = Readonly<Record<string, string>>;

/** In the model of the original 200 tags are the most that a resource has. */
const TAGS_MAX = 200;
const TAG_TEXT = /^[\p{L}\p{Nd}\p{Zs}\t_.:/=+\-@]*$/u;
const TAG_CHARACTERS = 'letters, digits, white space and _ . : / = + - @';
/** Prefixes of keys that belong to the provider: the original's and ours (seed 002, 2B). */
const RESERVED = ['aws:', 'berth:'];

/** The field `tags`: keys to 128 characters, values to 256. */
export function readTags(fields: Fields): Tags {
  const inside = fields.inside('tags');
  const entries = inside?.entries() ?? [];
  if (entries.length > TAGS_MAX) {
    inside?.wrong('', `must have at most ${TAGS_MAX} tags`, entries.length);
  }
  const tags: Record<string, string> = {};
  for (const [key, value] of entries) {
    const problem = tagProblem(key, value);
    if (problem === undefined) {
      Object.defineProperty(tags, key, { value, enumerable: true, configurable: true, writable: true });
    } else {
      inside?.wrong(key, problem, value);
    }
  }
  return tags;
}

/** What is wrong with a tag (seed 002, 2B); undefined = nothing. Lengths are those of Unicode characters. */
export function tagProblem(key: string, value: unknown): string | undefined {
  if (RESERVED.some((prefix) => key.toLowerCase().startsWith(prefix))) {
    return `a tag's key must not begin with ${RESERVED.join(' or ')}`;
  }
  if (key === '' || lengthOf(key) > 128 || !TAG_TEXT.test(key)) {
    return `a tag's key must have 1 to 128 characters of ${TAG_CHARACTERS}`;
  }
  if (typeof value !== 'string' || lengthOf(value) > 256 || !TAG_TEXT.test(value)) {
    return `a tag's value must have at most 256 characters of ${TAG_CHARACTERS}`;
  }
  return undefined;
}

/** Whether a resource may have so many. Throws InvalidFieldsError by way of `fields`. */
export function checkTagCount(fields: Fields, tags: Tags): void {
  if (Object.keys(tags).length > TAGS_MAX) {
    fields.wrong('tags', `a resource has at most ${TAGS_MAX} tags`, Object.keys(tags).length);
    fields.refuse();
  }
}

/** The field `name`; `reserved` = the beginning of ids, which no name may have (`tg-`). */
export function readName(fields: Fields, reserved: string): string | undefined {
  return fields.required('name', (field) =>
    fields.text(field, {
      min: 3,
      max: 128,
      pattern: new RegExp(`^(?!${reserved})[a-z0-9]+(-[a-z0-9]+)*$`),
      must:
        'must have 3 to 128 characters a-z, 0-9 and hyphen; a hyphen may not be first, last or right after ' +
        `another; ${reserved} may not be the beginning`,
    }),
  );
}

/** The field `clientToken`. */
export function readToken(fields: Fields): string | undefined {
  return fields.text('clientToken', {
    max: 64,
    pattern: /^[!-~]+$/,
    must: 'must have 1 to 64 printable characters without spaces',
  });
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}

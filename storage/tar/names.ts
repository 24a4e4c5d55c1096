import { invalidArgument } from '../../daemon/base/errors.ts';

/**
 * Names inside a tar are byte strings: one character per byte (latin1). They need not be UTF-8, and a name decoded and
 * encoded again would be another name.
 */

/** A byte string for messages: as UTF-8, quoted, cut. */
export function showName(name: string): string {
  const text = Buffer.from(name, 'latin1').toString('utf8');
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text);
}

/**
 * The path below the root that an entry's name means: no leading slash, no `.`, no doubled or trailing slashes; the
 * root itself is the empty string. Throws invalid_argument for `..` (no honest layer has it), NUL and the empty name.
 */
export function normalizeName(name: string, what: string): string {
  if (name === '' || name.includes('\0')) {
    throw invalidArgument(`${what} ${showName(name)}: a name must not be empty or hold a NUL character`);
  }
  const parts: string[] = [];
  for (const part of name.split('/')) {
    if (part === '..') {
      throw invalidArgument(`${what} ${showName(name)}: ".." would lead out of the layer`);
    }
    if (part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  return parts.join('/');
}

/** Parent path and last component of a normalised, non-empty path. */
export function splitName(path: string): { parent: string; name: string } {
  const slash = path.lastIndexOf('/');
  return slash === -1
    ? { parent: '', name: path }
    : { parent: path.slice(0, slash), name: path.slice(slash + 1) };
}

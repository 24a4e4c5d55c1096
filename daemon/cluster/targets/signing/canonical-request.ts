import { createHash } from 'node:crypto';
import type { SignedParts } from '../../../../api/types/cluster/targets.ts';

export type { SignedParts } from '../../../../api/types/cluster/targets.ts';

/**
 * The canonical request of AWS Signature Version 4 (the documentation of AWS, "Create a signed request"). `names`: the
 * headers that the client says it has signed, in lower case and in order. Pure.
 */
export function canonicalRequest(
  { method, target, headers, body }: SignedParts,
  names: readonly string[],
): string {
  const [path, query] = splitTarget(target);
  return [
    method,
    canonicalPath(path),
    canonicalQuery(query),
    ...names.map((name) => `${name}:${canonicalValue(headers[name])}`),
    '',
    names.join(';'),
    sha256Hex(body),
  ].join('\n');
}

export function sha256Hex(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex');
}

function splitTarget(target: string): [string, string] {
  const mark = target.indexOf('?');
  return mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)];
}

/** Without empty and dotted parts, and encoded once more than it came: services but S3 sign it so. */
function canonicalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') {
      parts.pop();
    } else if (part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  const end = parts.length > 0 && path.endsWith('/') ? '/' : '';
  return `/${parts.map(encoded).join('/')}${end}`;
}

function canonicalQuery(query: string): string {
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const mark = pair.indexOf('=');
      const [name, value] = mark < 0 ? [pair, ''] : [pair.slice(0, mark), pair.slice(mark + 1)];
      return [encoded(decoded(name)), encoded(decoded(value))] as const;
    })
    .toSorted(([nameA, valueA], [nameB, valueB]) => order(nameA, nameB) || order(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

function canonicalValue(value: string | readonly string[] | undefined): string {
  const text = typeof value === 'object' ? value.join(',') : (value ?? '');
  return text.trim().replaceAll(/\s+/g, ' ');
}

/** Percent-encoded but for the unreserved characters of RFC 3986. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded: signed as it stands.
    return text;
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

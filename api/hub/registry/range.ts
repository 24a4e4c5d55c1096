/** Bytes of a blob, both ends included. */
export interface ByteRange {
  start: number;
  end: number;
}

/**
 * What the header `Range` asks for of so many bytes (RFC 9110 section 14). Undefined = everything, as for more than one
 * range and for what is none; `unsatisfiable` = none of the bytes that are there. Pure.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') {
    return undefined;
  }
  const range =
    first === ''
      ? { start: Math.max(0, size - Number(last)), end: size - 1 }
      : { start: Number(first), end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
  const isBackwards = first !== '' && last !== '' && Number(last) < Number(first);
  if (isBackwards) {
    return undefined;
  }
  return range.start >= size || range.end < range.start ? 'unsatisfiable' : range;
}

/** The header `Content-Range` of a chunk, `0-1023` (OCI distribution) or as HTTP writes it; undefined = is none. */
export function readContentRange(header: string): ByteRange | undefined {
  const [, start = '', end = ''] =
    /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(header.trim()) ?? [];
  return start === '' ? undefined : { start: Number(start), end: Number(end) };
}

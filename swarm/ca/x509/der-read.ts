import { invalidArgument } from '../../../daemon/base/errors.ts';
import { TAG } from './der-write.ts';

/** One element of DER, with its bytes: `raw` whole, `content` without tag and length. */
export interface Element {
  tag: number;
  content: Buffer;
  raw: Buffer;
}

/** Deeper nothing is nested that swarms read; more is an attack. */
const LENGTH_BYTES_MAX = 3;

/** The one element that `bytes` are. Throws invalid_argument for anything else, also for bytes after it. */
export function readOne(bytes: Uint8Array): Element {
  const [only, ...more] = readAll(bytes);
  if (only === undefined || more.length > 0) {
    throw malformed('one element expected');
  }
  return only;
}

/** The elements inside one with the tag given. */
export function membersOf(parent: Element | undefined, tag: number): Element[] {
  return readAll(contentOf(parent, tag));
}

/** The content of an element with the tag given. */
export function contentOf(found: Element | undefined, tag: number): Buffer {
  if (found?.tag !== tag) {
    throw malformed(`tag ${tag} expected, ${found?.tag ?? 'nothing'} found`);
  }
  return found.content;
}

/** All elements that stand one after another. */
function readAll(bytes: Uint8Array): Element[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Element[] = [];
  for (let at = 0; at < buffer.length;) {
    const { header, length } = readHeader(buffer, at);
    const end = at + header + length;
    if (end > buffer.length) {
      throw malformed('an element ends after its parent');
    }
    elements.push({
      tag: buffer[at] ?? 0,
      content: buffer.subarray(at + header, end),
      raw: buffer.subarray(at, end),
    });
    at = end;
  }
  return elements;
}

function readHeader(buffer: Buffer, at: number): { header: number; length: number } {
  const tag = buffer[at] ?? 0;
  const first = buffer[at + 1];
  if (first === undefined || (tag & 0x1f) === 0x1f) {
    throw malformed('a tag or a length is missing');
  }
  if (first < 0x80) {
    return { header: 2, length: first };
  }
  const count = first & 0x7f;
  if (count === 0 || count > LENGTH_BYTES_MAX || at + 2 + count > buffer.length) {
    throw malformed('a length is none of DER');
  }
  const length = buffer.readUIntBE(at + 2, count);
  if (length < 0x80 || length < 2 ** (8 * (count - 1))) {
    // Two encodings of one certificate would be two certificates where bytes are compared.
    throw malformed('a length is longer than it must be');
  }
  return { header: 2 + count, length };
}

/** An object identifier in its dotted form. */
export function oidOf(found: Element | undefined): string {
  const bytes = contentOf(found, TAG.oid);
  const parts: number[] = [];
  let value = 0;
  for (const byte of bytes) {
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      parts.push(value);
      value = 0;
    }
  }
  const [first = 0, ...rest] = parts;
  const top = Math.min(Math.floor(first / 40), 2);
  return [top, first - top * 40, ...rest].join('.');
}

/** A time of a certificate in milliseconds since 1970. */
export function timeOf(found: Element | undefined): number {
  const text = found?.content.toString('latin1') ?? '';
  const isShort = found?.tag === TAG.utcTime;
  const isTime = isShort ? /^\d{12}Z$/ : /^\d{14}Z$/;
  if ((!isShort && found?.tag !== TAG.generalizedTime) || !isTime.test(text)) {
    throw malformed('no time');
  }
  const century = Number(text.slice(0, 2)) < 50 ? '20' : '19';
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec(isShort ? century + text : text) ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(ms)) {
    throw malformed('no time');
  }
  return ms;
}

function malformed(what: string): Error {
  return invalidArgument(`certificate or request: ${what}`);
}

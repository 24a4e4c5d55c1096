import { invalidArgument } from '../../daemon/base/errors.ts';
import { showName } from './names.ts';

/**
 * One 512-byte tar header (POSIX ustar, GNU, and the plain one of Unix V7). Pure.
 * Names are byte strings (names.ts).
 */
export interface TarHeader {
  name: string;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  /** Seconds since the epoch; may be negative. */
  mtime: number;
  /** One character: the type flag as written, `0` for the NUL of V7. */
  type: string;
  linkName: string;
  major: number;
  minor: number;
}

export const TAR_BLOCK = 512;

/** True when the block is nothing but zeros: the end marker. */
export function isZeroBlock(block: Buffer): boolean {
  return block.equals(ZEROS);
}

const ZEROS = Buffer.alloc(TAR_BLOCK);

/** Throws EngineError invalid_argument for a wrong checksum or a field that is no number. */
export function parseHeader(block: Buffer, what: string): TarHeader {
  const name = text(block, 0, 100);
  checkSum(block, what, name);
  const magic = block.toString('latin1', 257, 263);
  const isUstar = magic === 'ustar\0';
  const isGnu = magic === 'ustar ';
  const field = (label: string, offset: number, length: number): number =>
    numberField(block, offset, length, () => `${what} ${showName(name)}: ${label} field`);
  // GNU keeps other things where POSIX has the prefix.
  const prefix = isUstar ? text(block, 345, 155) : '';
  const flag = block.toString('latin1', 156, 157);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    mode: field('mode', 100, 8),
    uid: field('uid', 108, 8),
    gid: field('gid', 116, 8),
    size: field('size', 124, 12),
    mtime: field('mtime', 136, 12),
    type: flag === '\0' ? '0' : flag,
    linkName: text(block, 157, 100),
    major: isUstar || isGnu ? field('device major', 329, 8) : 0,
    minor: isUstar || isGnu ? field('device minor', 337, 8) : 0,
  };
}

function checkSum(block: Buffer, what: string, name: string): void {
  const expected = numberField(block, 148, 8, () => `${what} ${showName(name)}: checksum field`);
  let unsigned = 0;
  let signed = 0;
  for (let index = 0; index < TAR_BLOCK; index += 1) {
    const byte = index >= 148 && index < 156 ? 0x20 : (block[index] ?? 0);
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  // Some old writers summed signed characters.
  if (expected !== unsigned && expected !== signed) {
    throw invalidArgument(`${what}: not a tar header (wrong checksum)`);
  }
}

/** Bytes up to the first NUL. */
function text(block: Buffer, offset: number, length: number): string {
  const end = block.indexOf(0, offset);
  return block.toString('latin1', offset, end === -1 || end > offset + length ? offset + length : end);
}

/** Octal digits, or base-256 (a set high bit) as GNU writes what does not fit; 0 for nothing. `where` begins errors. */
export function numberField(block: Buffer, offset: number, length: number, where: () => string): number {
  const first = block[offset] ?? 0;
  if ((first & 0x80) !== 0) {
    return base256(block, offset, length, where);
  }
  const digits = text(block, offset, length).trim();
  if (digits === '') {
    return 0;
  }
  if (!/^[0-7]+$/.test(digits)) {
    throw invalidArgument(`${where()} is not an octal number`);
  }
  return Number.parseInt(digits, 8);
}

/** Two's complement, big-endian; the top bit only marks the encoding. */
function base256(block: Buffer, offset: number, length: number, where: () => string): number {
  const negative = ((block[offset] ?? 0) & 0x40) !== 0;
  let value = negative ? -1n : 0n;
  for (let index = 0; index < length; index += 1) {
    let byte = block[offset + index] ?? 0;
    if (index === 0) {
      byte = negative ? byte | 0x80 : byte & 0x7f;
    }
    value = (value << 8n) | BigInt(byte);
  }
  const result = Number(value);
  if (!Number.isSafeInteger(result)) {
    throw invalidArgument(`${where()} is out of range`);
  }
  return result;
}

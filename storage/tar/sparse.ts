import { invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { numberField } from './header.ts';

/**
 * Sparse files as GNU tar and star's successors write them (GNU tar manual, "Storing Sparse Files"): only the extents
 * that hold data are in the archive, one behind the other; a map says where each belongs, and all else is a hole. Pure.
 *
 *   old GNU   type `S`: four extents in the header, 21 in each block that follows it
 *   pax 0.0   records GNU.sparse.offset and .numbytes, again and again
 *   pax 0.1   one record GNU.sparse.map
 *   pax 1.0   the map as decimal lines in front of the content
 */
export interface SparseExtent {
  offset: number;
  size: number;
}

/** What the records of an extended header say of a sparse file. */
export interface PaxSparse {
  /** Major and minor version; absent before 1.0. */
  version?: [string | undefined, string | undefined];
  name?: string;
  realSize?: number;
  /** Offsets and sizes in turn, of 0.0 and 0.1. */
  numbers?: number[];
}

const GNU_MAGIC = 'ustar ';
const GNU_MAP = { offset: 386, entries: 4, isExtended: 482 };
const GNU_REAL_SIZE = 483;
const GNU_EXTENSION_MAP = { offset: 0, entries: 21, isExtended: 504 };
const GNU_NUMBER_BYTES = 12;
/** Longest decimal number in a map. */
const DIGITS_MAX = 16;

/**
 * The extents, checked and joined where they touch. `stored` is how many bytes the archive has of the file. Throws
 * invalid_argument, beginning with `where`, unless they follow one another within the file and hold all those bytes.
 */
export function checkExtents(
  extents: readonly SparseExtent[],
  file: { size: number; stored: number },
  where: string,
): SparseExtent[] {
  const { size, stored } = file;
  const refuse = (why: string): never => {
    throw invalidArgument(`${where}: sparse file: ${why}`);
  };
  if (!Number.isSafeInteger(size) || size < 0 || size > limits.sparseFileBytesMax) {
    refuse(`size ${size} is out of range`);
  }
  const joined: SparseExtent[] = [];
  let end = 0;
  let sum = 0;
  for (const { offset, size: length } of extents) {
    if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
      refuse('an extent with a number out of range');
    }
    if (offset < end) {
      refuse(`the extent at ${offset} overlaps the one before`);
    }
    if (offset + length > size) {
      refuse(`the extent at ${offset} lies beyond the end of the file, ${size}`);
    }
    const last = joined.at(-1);
    if (last !== undefined && offset === end) {
      last.size += length;
    } else if (length > 0) {
      joined.push({ offset, size: length });
    }
    end = offset + length;
    sum += length;
  }
  return sum === stored ? joined : refuse(`its extents have ${sum} bytes, the archive ${stored}`);
}

/** Bytes of all extents. */
export function extentBytes(extents: readonly SparseExtent[]): number {
  return extents.reduce((total, { size }) => total + size, 0);
}

/** Offsets and sizes in turn, as extents. Throws when one lacks its size. */
export function toExtents(numbers: readonly number[], where: string): SparseExtent[] {
  if (numbers.length % 2 !== 0) {
    throw invalidArgument(`${where}: sparse file: an offset without a size`);
  }
  refuseTooMany(numbers.length / 2, where);
  return Array.from({ length: numbers.length / 2 }, (_, index) => ({
    offset: numbers[2 * index] ?? 0,
    size: numbers[2 * index + 1] ?? 0,
  }));
}

/** A number of a map; anything but plain decimal digits throws. */
export function sparseNumber(text: string, where: string): number {
  const value = text.length <= DIGITS_MAX && /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) {
    throw invalidArgument(`${where}: sparse file: ${JSON.stringify(text.slice(0, 40))} is no number`);
  }
  return value;
}

/** Gathers a map that comes in blocks: each is given to `take`, which is true when it was the last. */
export interface SparseMapReader {
  take(block: Buffer): boolean;
  readonly extents: readonly SparseExtent[];
  /** Bytes of the file when it is unpacked. */
  readonly size: number;
}

/** Type `S`. The first block it takes is the header itself. */
export class GnuSparseMap implements SparseMapReader {
  readonly extents: SparseExtent[] = [];
  readonly #where: string;
  size = -1;

  constructor(where: string) {
    this.#where = where;
  }

  take(block: Buffer): boolean {
    const isHeader = this.size === -1;
    if (isHeader) {
      if (block.toString('latin1', 257, 263) !== GNU_MAGIC) {
        throw invalidArgument(`${this.#where}: entries of type "S" are known in GNU's format only`);
      }
      this.size = this.#number(block, GNU_REAL_SIZE);
    }
    const map = isHeader ? GNU_MAP : GNU_EXTENSION_MAP;
    for (let index = 0; index < map.entries; index += 1) {
      const at = map.offset + index * 2 * GNU_NUMBER_BYTES;
      if (block[at] === 0 && block[at + GNU_NUMBER_BYTES] === 0) {
        break;
      }
      this.extents.push({
        offset: this.#number(block, at),
        size: this.#number(block, at + GNU_NUMBER_BYTES),
      });
    }
    refuseTooMany(this.extents.length, this.#where);
    return block[map.isExtended] === 0;
  }

  #number(block: Buffer, offset: number): number {
    return numberField(block, offset, GNU_NUMBER_BYTES, () => `${this.#where}: sparse map`);
  }
}

/** Version 1.0 of pax: `COUNT\n`, then as often `OFFSET\nSIZE\n`, zeros up to the end of the block. */
export class PaxSparseMap implements SparseMapReader {
  readonly size: number;
  readonly #where: string;
  #rest = '';
  readonly #numbers: number[] = [];

  constructor(size: number, where: string) {
    this.size = size;
    this.#where = where;
  }

  get extents(): readonly SparseExtent[] {
    return toExtents(this.#numbers.slice(1), this.#where);
  }

  take(block: Buffer): boolean {
    let text = this.#rest + block.toString('latin1');
    while (!this.#isWhole()) {
      const end = text.indexOf('\n');
      if (end === -1) {
        break;
      }
      this.#numbers.push(sparseNumber(text.slice(0, end), this.#where));
      refuseTooMany(this.#numbers[0] ?? 0, this.#where);
      text = text.slice(end + 1);
    }
    if (text.length > DIGITS_MAX && !this.#isWhole()) {
      throw invalidArgument(`${this.#where}: sparse file: a map that is no list of numbers`);
    }
    this.#rest = text;
    return this.#isWhole();
  }

  #isWhole(): boolean {
    const [count] = this.#numbers;
    return count !== undefined && this.#numbers.length === 1 + 2 * count;
  }
}

function refuseTooMany(extents: number, where: string): void {
  if (extents > limits.sparseExtentsMax) {
    throw invalidArgument(`${where}: sparse file: more than ${limits.sparseExtentsMax} extents`);
  }
}

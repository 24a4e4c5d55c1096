import { createHash } from 'node:crypto';
import { fstatSync, readSync, writeSync } from 'node:fs';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { internal } from '../../daemon/base/errors.ts';
import { writeAll } from '../../daemon/base/kernel/files/files.ts';
import type { SparseExtent } from '../tar/sparse.ts';

/**
 * How to write a layer's tar again byte for byte from its files: the bytes between the contents as they were, and for
 * each content the file that holds it. So a layer is stored once, as files, and `save` still gives what was loaded.
 *
 *   header   8 bytes magic, u64 LE bytes of the tar
 *   block*   u32 LE length, then that many bytes of deflate, holding records:
 *   end      ff ff ff ff, SHA-256 of all blocks and then of the header; recipes of older versions have none
 *   record   01 u32 LE length, bytes                     these bytes
 *            02 u64 LE size, u32 LE length, path         that many bytes of this file (path as in tar/names.ts)
 *            03 u64 LE size, u32 LE length, path,        of this sparse file only the bytes of its extents
 *               u32 LE extents, (u64 LE offset, u64 LE size)*
 */
const MAGIC = Buffer.from('BERTHRC1', 'latin1');
const HEADER_BYTES = 16;
const RAW = 1;
const CONTENT = 2;
const SPARSE = 3;
const EXTENT_BYTES = 16;
/** Kind and length. */
const RAW_HEAD_BYTES = 5;
/** Kind, size and length of the path. */
const FILE_HEAD_BYTES = 13;
/** In place of a block's length. */
const END = 0xffff_ffff;
const END_BYTES = 36;
/** Uncompressed bytes of one block; the reader holds one at a time. */
const BLOCK_BYTES = 1024 * 1024;
/** A block may pass BLOCK_BYTES by one path or one raw piece. */
const BLOCK_BYTES_MAX = 4 * BLOCK_BYTES;

export type RecipeStep =
  | { kind: 'raw'; bytes: Buffer }
  /** Of a sparse file only the bytes of its extents. */
  | { kind: 'content'; path: string; size: number; extents?: SparseExtent[] };

/** Writes a recipe into an open, empty file. Synchronous, for a worker. */
export class RecipeWriter {
  readonly #fd: number;
  readonly #hash = createHash('sha256');
  #position = HEADER_BYTES;
  /** Records that are not written yet. */
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES + BLOCK_BYTES / 16);
  #bytes = 0;
  /** Where the record of bytes begins that may still grow. */
  #raw: number | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** These bytes come next; copied. */
  raw(bytes: Buffer): void {
    for (let offset = 0; offset < bytes.length; offset += BLOCK_BYTES) {
      const piece = bytes.subarray(offset, offset + BLOCK_BYTES);
      if (this.#raw === undefined) {
        this.#raw = this.#take(RAW_HEAD_BYTES);
        this.#block[this.#raw] = RAW;
      }
      // Taking may bring another block.
      const at = this.#take(piece.length);
      piece.copy(this.#block, at);
      this.#ended();
    }
  }

  /** The content of a file comes next. */
  content(path: string, size: number): void {
    this.#file(CONTENT, path, size);
    this.#ended();
  }

  /** The extents of a sparse file come next. */
  sparse(path: string, size: number, extents: readonly SparseExtent[]): void {
    this.#file(SPARSE, path, size);
    let at = this.#take(4 + extents.length * EXTENT_BYTES);
    at = this.#block.writeUInt32LE(extents.length, at);
    for (const extent of extents) {
      at = this.#block.writeBigUInt64LE(BigInt(extent.offset), at);
      at = this.#block.writeBigUInt64LE(BigInt(extent.size), at);
    }
    this.#ended();
  }

  /** Completes the file. */
  finish(tarBytes: number): void {
    this.#flush();
    const header = Buffer.alloc(HEADER_BYTES);
    MAGIC.copy(header);
    header.writeBigUInt64LE(BigInt(tarBytes), 8);
    const end = Buffer.alloc(4);
    end.writeUInt32LE(END);
    this.#hash.update(header);
    writeAll(this.#fd, Buffer.concat([end, this.#hash.digest()]), this.#position);
    writeSync(this.#fd, header, 0, header.length, 0);
  }

  /** Kind, size and path. */
  #file(kind: number, path: string, size: number): void {
    this.#endRaw();
    let at = this.#take(FILE_HEAD_BYTES + path.length);
    at = this.#block.writeUInt8(kind, at);
    at = this.#block.writeBigUInt64LE(BigInt(size), at);
    at = this.#block.writeUInt32LE(path.length, at);
    this.#block.write(path, at, 'latin1');
  }

  /** Room for so many bytes more: where it begins. */
  #take(bytes: number): number {
    const at = this.#bytes;
    if (at + bytes > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(2 * (at + bytes));
      this.#block.copy(larger, 0, 0, at);
      this.#block = larger;
    }
    this.#bytes += bytes;
    return at;
  }

  #endRaw(): void {
    if (this.#raw !== undefined) {
      this.#block.writeUInt32LE(this.#bytes - this.#raw - RAW_HEAD_BYTES, this.#raw + 1);
      this.#raw = undefined;
    }
  }

  /** Between two records, or within one of bytes. */
  #ended(): void {
    if (this.#bytes >= BLOCK_BYTES) {
      this.#flush();
    }
  }

  #flush(): void {
    this.#endRaw();
    if (this.#bytes === 0) {
      return;
    }
    const packed = deflateRawSync(this.#block.subarray(0, this.#bytes), { level: 1 });
    this.#bytes = 0;
    const length = Buffer.alloc(4);
    length.writeUInt32LE(packed.length);
    for (const bytes of [length, packed]) {
      this.#hash.update(bytes);
      writeAll(this.#fd, bytes, this.#position);
      this.#position += bytes.length;
    }
  }
}

/** Bytes of the tar that this recipe makes. */
export function recipeTarBytes(fd: number): number {
  const header = readFully(fd, 0, HEADER_BYTES);
  if (!header.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw internal('layer recipe: wrong magic, the file is damaged');
  }
  return Number(header.readBigUInt64LE(8));
}

/** The steps of a recipe, in order. Throws EngineError internal when the file is damaged. */
export function* readRecipe(fd: number): Generator<RecipeStep> {
  let position = HEADER_BYTES;
  for (;;) {
    const length = readFully(fd, position, 4, { orEnd: true });
    if (length.length === 0) {
      return;
    }
    if (length.readUInt32LE() === END) {
      return;
    }
    const packed = readFully(fd, position + 4, length.readUInt32LE());
    position += 4 + packed.length;
    yield* records(inflateRawSync(packed, { maxOutputLength: BLOCK_BYTES_MAX }));
  }
}

/** Whether it is what was written; undefined = it has no digest of its own that could say so. */
export function isRecipeWhole(fd: number): boolean | undefined {
  const end = fstatSync(fd).size - END_BYTES;
  if (end < HEADER_BYTES) {
    return undefined;
  }
  const [mark, digest] = [readFully(fd, end, 4), readFully(fd, end + 4, END_BYTES - 4)];
  if (mark.readUInt32LE() !== END) {
    return undefined;
  }
  const hash = createHash('sha256');
  for (let position = HEADER_BYTES; position < end; position += BLOCK_BYTES) {
    hash.update(readFully(fd, position, Math.min(BLOCK_BYTES, end - position)));
  }
  hash.update(readFully(fd, 0, HEADER_BYTES));
  return hash.digest().equals(digest);
}

function* records(block: Buffer): Generator<RecipeStep> {
  let offset = 0;
  while (offset < block.length) {
    if (block[offset] === RAW) {
      const length = block.readUInt32LE(offset + 1);
      yield { kind: 'raw', bytes: block.subarray(offset + RAW_HEAD_BYTES, offset + RAW_HEAD_BYTES + length) };
      offset += RAW_HEAD_BYTES + length;
    } else if (block[offset] === CONTENT || block[offset] === SPARSE) {
      const size = Number(block.readBigUInt64LE(offset + 1));
      const end = offset + FILE_HEAD_BYTES + block.readUInt32LE(offset + 9);
      const file = {
        kind: 'content',
        size,
        path: block.toString('latin1', offset + FILE_HEAD_BYTES, end),
      } as const;
      const extents = block[offset] === SPARSE ? readExtents(block, end) : undefined;
      yield extents === undefined ? file : { ...file, extents };
      offset = extents === undefined ? end : end + 4 + extents.length * EXTENT_BYTES;
    } else {
      throw internal('layer recipe: unknown record, the file is damaged');
    }
  }
}

function readFully(fd: number, position: number, length: number, options?: { orEnd: boolean }): Buffer {
  const bytes = Buffer.alloc(length);
  const count = readSync(fd, bytes, 0, length, position);
  if (count === 0 && options?.orEnd === true) {
    return bytes.subarray(0, 0);
  }
  if (count !== length) {
    throw internal('layer recipe: cut off, the file is damaged');
  }
  return bytes;
}

function readExtents(block: Buffer, offset: number): SparseExtent[] {
  return Array.from({ length: block.readUInt32LE(offset) }, (_, index) => ({
    offset: Number(block.readBigUInt64LE(offset + 4 + index * EXTENT_BYTES)),
    size: Number(block.readBigUInt64LE(offset + 12 + index * EXTENT_BYTES)),
  }));
}

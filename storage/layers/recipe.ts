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
  #records: Buffer[] = [];
  #recordBytes = 0;
  #raw: Buffer[] = [];
  #rawBytes = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** These bytes come next; copied. */
  raw(bytes: Buffer): void {
    for (let offset = 0; offset < bytes.length; offset += BLOCK_BYTES) {
      const piece = Buffer.from(bytes.subarray(offset, offset + BLOCK_BYTES));
      this.#raw.push(piece);
      this.#rawBytes += piece.length;
      if (this.#rawBytes + this.#recordBytes >= BLOCK_BYTES) {
        this.#endRaw();
        this.#flush();
      }
    }
  }

  /** The content of a file comes next. */
  content(path: string, size: number): void {
    this.#endRaw();
    this.#record(...fileHead(CONTENT, path, size));
  }

  /** The extents of a sparse file come next. */
  sparse(path: string, size: number, extents: readonly SparseExtent[]): void {
    this.#endRaw();
    const map = Buffer.alloc(4 + extents.length * EXTENT_BYTES);
    map.writeUInt32LE(extents.length);
    for (const [index, extent] of extents.entries()) {
      map.writeBigUInt64LE(BigInt(extent.offset), 4 + index * EXTENT_BYTES);
      map.writeBigUInt64LE(BigInt(extent.size), 12 + index * EXTENT_BYTES);
    }
    this.#record(...fileHead(SPARSE, path, size), map);
  }

  /** Completes the file. */
  finish(tarBytes: number): void {
    this.#endRaw();
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

  #endRaw(): void {
    if (this.#rawBytes === 0) {
      return;
    }
    const head = Buffer.allocUnsafe(5);
    head[0] = RAW;
    head.writeUInt32LE(this.#rawBytes, 1);
    const pieces = this.#raw;
    this.#raw = [];
    this.#rawBytes = 0;
    this.#record(head, ...pieces);
  }

  #record(...pieces: Buffer[]): void {
    for (const piece of pieces) {
      this.#records.push(piece);
      this.#recordBytes += piece.length;
    }
    if (this.#recordBytes >= BLOCK_BYTES) {
      this.#flush();
    }
  }

  #flush(): void {
    if (this.#recordBytes === 0) {
      return;
    }
    const packed = deflateRawSync(Buffer.concat(this.#records), { level: 1 });
    this.#records = [];
    this.#recordBytes = 0;
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
      yield { kind: 'raw', bytes: block.subarray(offset + 5, offset + 5 + length) };
      offset += 5 + length;
    } else if (block[offset] === CONTENT || block[offset] === SPARSE) {
      const size = Number(block.readBigUInt64LE(offset + 1));
      const end = offset + 13 + block.readUInt32LE(offset + 9);
      const file = { kind: 'content', size, path: block.toString('latin1', offset + 13, end) } as const;
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

/** Kind, size and path of a file. */
function fileHead(kind: number, path: string, size: number): [Buffer, Buffer] {
  const name = Buffer.from(path, 'latin1');
  const head = Buffer.allocUnsafe(13);
  head[0] = kind;
  head.writeBigUInt64LE(BigInt(size), 1);
  head.writeUInt32LE(name.length, 9);
  return [head, name];
}

function readExtents(block: Buffer, offset: number): SparseExtent[] {
  return Array.from({ length: block.readUInt32LE(offset) }, (_, index) => ({
    offset: Number(block.readBigUInt64LE(offset + 4 + index * EXTENT_BYTES)),
    size: Number(block.readBigUInt64LE(offset + 12 + index * EXTENT_BYTES)),
  }));
}

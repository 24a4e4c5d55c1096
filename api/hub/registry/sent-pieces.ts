import { limits } from '../../../daemon/base/limits.ts';
import type { RegistryBlob } from '../../types/hub/registry.ts';

/** A blob whose bytes are read by positions. */
export interface ReadableBlob extends Pick<RegistryBlob, 'size'> {
  digest: string;
  read: NonNullable<RegistryBlob['read']>;
}

interface Piece {
  key: string;
  memory: Buffer;
  bytes: Promise<Buffer>;
  holds: number;
  /** More than one answer has had it. */
  isShared: boolean;
  /** Of an answer that broke off: the kernel may still read from it. */
  isSpoiled: boolean;
}

/** A piece that stays as it is until it is given back. */
export interface HeldPiece {
  bytes: Promise<Buffer>;
  /** `isSent`: nobody reads its memory any more. */
  giveBack(isSent: boolean): void;
}

/**
 * Pieces of blobs that are being sent, or were just now: many who pull the same image at once are sent the same memory,
 * read once. A blob never changes, so a piece is what its digest and number say. Memory is used again, since the kernel
 * gives new memory page by page: first that of the last piece that one answer alone has had, which the processor still
 * has in its caches.
 */
export class SentPieces {
  readonly #pieceBytes: number;
  readonly #spareMax: number;
  readonly #known = new Map<string, Piece>();
  /** Those of `#known` that nobody holds, the longest unused first: of one answer, and of several. */
  readonly #single = new Set<Piece>();
  readonly #shared = new Set<Piece>();

  constructor(pieceBytes: number = limits.hubSentPieceBytes, spareMax: number = limits.hubSentPiecesSpare) {
    this.#pieceBytes = pieceBytes;
    this.#spareMax = spareMax;
  }

  get pieceBytes(): number {
    return this.#pieceBytes;
  }

  /** The piece with this number of a blob, from `number * pieceBytes` on. `bytes` rejects with what reading throws. */
  hold(blob: ReadableBlob, number: number): HeldPiece {
    const key = `${blob.digest} ${number}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      this.#spareOf(known).delete(known);
      known.isShared = true;
    }
    const piece = known ?? this.#read(blob, number, key);
    piece.holds += 1;
    return { bytes: piece.bytes, giveBack: (isSent) => this.#giveBack(piece, isSent) };
  }

  #read(blob: ReadableBlob, number: number, key: string): Piece {
    const memory = this.#memory();
    const position = number * this.#pieceBytes;
    const into = memory.subarray(0, Math.min(this.#pieceBytes, blob.size - position));
    const bytes = fill(blob, into, position);
    const piece: Piece = { key, memory, bytes, holds: 0, isShared: false, isSpoiled: false };
    this.#known.set(key, piece);
    bytes.catch(() => this.#forget(piece));
    return piece;
  }

  #memory(): Buffer {
    const piece =
      [...this.#single].at(-1) ?? (this.#shared.size < this.#spareMax ? undefined : first(this.#shared));
    if (piece === undefined) {
      return Buffer.allocUnsafeSlow(this.#pieceBytes);
    }
    this.#forget(piece);
    return piece.isSpoiled ? Buffer.allocUnsafeSlow(this.#pieceBytes) : piece.memory;
  }

  #giveBack(piece: Piece, isSent: boolean): void {
    piece.holds -= 1;
    piece.isSpoiled ||= !isSent;
    if (piece.holds > 0 || this.#known.get(piece.key) !== piece) {
      return;
    }
    const spare = this.#spareOf(piece);
    spare.add(piece);
    const oldest = first(spare);
    if (spare.size > this.#spareMax && oldest !== undefined) {
      this.#forget(oldest);
    }
  }

  #spareOf({ isShared }: Piece): Set<Piece> {
    return isShared ? this.#shared : this.#single;
  }

  #forget(piece: Piece): void {
    this.#spareOf(piece).delete(piece);
    if (this.#known.get(piece.key) === piece) {
      this.#known.delete(piece.key);
    }
  }
}

function first<T>(set: ReadonlySet<T>): T | undefined {
  const [item] = set;
  return item;
}

async function fill({ read }: ReadableBlob, into: Buffer, position: number): Promise<Buffer> {
  for (let filled = 0; filled < into.length;) {
    filled += await read(into.subarray(filled), position + filled);
  }
  return into;
}

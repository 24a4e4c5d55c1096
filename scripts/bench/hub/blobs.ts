import { createHash, randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BlobFile } from './curl.ts';

const PIECE_BYTES = 1024 * 1024;

/** Files that are the blobs of images: no two are the same, and none can be packed. */
export class BlobFolder implements Disposable {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'berth-bench-'));
  readonly #piece = randomBytes(PIECE_BYTES);
  #count = 0;

  /** A configuration and layers of so many bytes. */
  image(layers: number, layerBytes: number): BlobFile[] {
    return [this.#make(32), ...Array.from({ length: layers }, () => this.#make(layerBytes))];
  }

  /**
   * Uses as much memory as is written next, and frees it. The host of a virtual machine gives memory that was not used
   * page by page, ten times slower than the kernel copies: who is measured would pay for it by turns.
   */
  warm(bytes: number): void {
    this.forget([this.#make(bytes)]);
  }

  /** Room for the next image. */
  forget(blobs: readonly BlobFile[]): void {
    blobs.forEach((blob) => rmSync(blob.path, { force: true }));
  }

  #make(size: number): BlobFile {
    this.#count += 1;
    const file = path.join(this.#folder, String(this.#count));
    const hash = createHash('sha256');
    const fd = openSync(file, 'w');
    for (let left = size; left > 0; left -= PIECE_BYTES) {
      const piece = this.#piece.subarray(0, Math.min(left, PIECE_BYTES));
      // Of a file on its own: what stands elsewhere in it may be the same.
      randomBytes(16).copy(piece);
      hash.update(piece);
      writeSync(fd, piece);
    }
    closeSync(fd);
    return { path: file, digest: `sha256:${hash.digest('hex')}`, size };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

import { readSync } from 'node:fs';

const CHUNK_BYTES = 256 * 1024;

/** Collects small pieces into chunks that the receiver may keep. Synchronous, for a worker. */
export class TarChunks {
  readonly #emit: (chunk: Buffer) => void;
  #chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #length = 0;

  constructor(emit: (chunk: Buffer) => void) {
    this.#emit = emit;
  }

  write(bytes: Buffer): void {
    let offset = 0;
    while (offset < bytes.length) {
      const count = bytes.copy(this.#chunk, this.#length, offset);
      offset += count;
      this.#advance(count);
    }
  }

  zeros(length: number): void {
    let left = length;
    while (left > 0) {
      const count = Math.min(left, CHUNK_BYTES - this.#length);
      this.#chunk.fill(0, this.#length, this.#length + count);
      left -= count;
      this.#advance(count);
    }
  }

  /** Reads at most `length` bytes straight into the chunk, from a position or where the file stands; 0 at its end. */
  read(fd: number, length: number, position: number | null = null): number {
    const wanted = Math.min(length, CHUNK_BYTES - this.#length);
    const count = readSync(fd, this.#chunk, this.#length, wanted, position);
    this.#advance(count);
    return count;
  }

  /** Sends the rest. */
  finish(): void {
    if (this.#length > 0) {
      this.#send();
    }
  }

  #advance(count: number): void {
    this.#length += count;
    if (this.#length === CHUNK_BYTES) {
      this.#send();
    }
  }

  #send(): void {
    const full = this.#chunk.subarray(0, this.#length);
    this.#chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    this.#length = 0;
    this.#emit(full);
  }
}

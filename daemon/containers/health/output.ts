import type { Readable } from 'node:stream';
import { limits } from '../../base/limits.ts';

/** The first bytes that a probe writes, to either stream; the rest is read and dropped, as nobody may be held up. */
export class ProbeOutput {
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #isCut = false;

  read(stream: Readable): void {
    // A process's stream without an encoding yields Buffers.
    stream.on('data', (chunk: Buffer) => this.#add(chunk));
  }

  /** Bytes that are no UTF-8 become replacement characters; `...` says that there was more. */
  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8') + (this.#isCut ? '...' : '');
  }

  #add(chunk: Buffer): void {
    const kept = chunk.subarray(0, limits.healthOutputBytesMax - this.#size);
    this.#isCut ||= kept.length < chunk.length;
    if (kept.length > 0) {
      this.#size += kept.length;
      // A copy: the chunk may be a small part of a large buffer.
      this.#chunks.push(Buffer.from(kept));
    }
  }
}

import { EngineError } from '../../../daemon/base/errors.ts';

const HEAD_BYTES = 5;

/** A message as it goes over a stream: not compressed, its length before it. */
export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(HEAD_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, HEAD_BYTES);
  return framed;
}

/** Takes messages out of the bytes of a stream, however these are cut. */
export class FrameReader {
  readonly #bytesMax: number;
  #pending: Buffer[] = [];
  #length = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /**
   * The messages that are complete by now. They may be parts of `chunk`. Throws resource_exhausted for one that is too
   * large, before it has come, and not_implemented for a compressed one.
   */
  push(chunk: Buffer): Buffer[] {
    this.#pending.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#wanted()) {
      return [];
    }
    let rest = this.#pending.length === 1 ? chunk : Buffer.concat(this.#pending);
    const messages: Buffer[] = [];
    for (;;) {
      const size = this.#sizeOf(rest);
      if (size === undefined || rest.length < HEAD_BYTES + size) {
        break;
      }
      messages.push(rest.subarray(HEAD_BYTES, HEAD_BYTES + size));
      rest = rest.subarray(HEAD_BYTES + size);
    }
    this.#pending = rest.length === 0 ? [] : [rest];
    this.#length = rest.length;
    return messages;
  }

  /** Call when the stream has ended. Throws invalid_argument when it ended inside a message. */
  end(): void {
    if (this.#length > 0) {
      throw new EngineError('invalid_argument', 'the stream ended inside a message');
    }
  }

  /** Bytes until there is something to look at: pieces are put together once for a message, not once for each. */
  #wanted(): number {
    const [first] = this.#pending;
    const size = first === undefined ? undefined : this.#sizeOf(first);
    return HEAD_BYTES + (size ?? 0);
  }

  #sizeOf(bytes: Buffer): number | undefined {
    if (bytes.length < HEAD_BYTES) {
      return undefined;
    }
    if (bytes[0] !== 0) {
      throw new EngineError('not_implemented', 'compressed messages are not supported');
    }
    const size = bytes.readUInt32BE(1);
    if (size > this.#bytesMax) {
      throw new EngineError(
        'resource_exhausted',
        `a message of ${size} bytes is larger than ${this.#bytesMax} bytes`,
      );
    }
    return size;
  }
}

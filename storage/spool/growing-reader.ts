import { read } from 'node:fs';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { EngineError, invariant } from '../../daemon/base/errors.ts';

const readAt = promisify(read);

/** Bytes of one read. */
const READ_BYTES = 256 * 1024;

/**
 * A file that is being filled, for any number of readers that do not wait until all of it is there. Who fills it says
 * how far it has come; who closes it waits until nobody reads.
 */
export class GrowingReader {
  readonly #fd: number;
  /** In the end. */
  readonly size: number;
  #there = 0;
  #failure: Error | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(fd: number, size: number) {
    this.#fd = fd;
    this.size = size;
  }

  /** So many bytes are there. */
  grown(to: number): void {
    this.#there = to;
    this.#wake();
  }

  /** No more will come. What is there can still be read. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }

  /** Bytes from `start` to `end`, both included. It fails where the file does before `end`. */
  stream(start: number, end: number): Readable {
    return Readable.from(this.#pieces(start, end), { objectMode: false, highWaterMark: READ_BYTES });
  }

  async *#pieces(start: number, end: number): AsyncGenerator<Buffer> {
    for (let position = start; position <= end;) {
      const there = await this.#beyond(position);
      const length = Math.min(READ_BYTES, there - position, end + 1 - position);
      const { bytesRead, buffer } = await readAt(this.#fd, Buffer.allocUnsafe(length), 0, length, position);
      invariant(bytesRead > 0, `a growing file ends at byte ${position} of ${there}`);
      position += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** How many bytes there are, once there are more than `position`. */
  async #beyond(position: number): Promise<number> {
    while (this.#there <= position) {
      if (this.#failure !== undefined) {
        // Each reader gets an error of its own.
        throw new EngineError('unavailable', this.#failure.message, { cause: this.#failure });
      }
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
    return this.#there;
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    waiting.forEach((resolve) => resolve());
  }
}

import { readSync } from 'node:fs';
import { readRange } from '../source.ts';

/** Small files lie side by side: one read has many of them. */
const WINDOW_BYTES = 512 * 1024;

/** Contents in an open file, mostly asked for in their order. */
export class SourceWindow {
  readonly #fd: number;
  readonly #what: string;
  readonly #window = Buffer.allocUnsafeSlow(WINDOW_BYTES);
  #start = 0;
  #end = 0;

  constructor(fd: number, what: string) {
    this.#fd = fd;
    this.#what = what;
  }

  /** Each piece is valid until the next one, of any content, is asked for. Throws where the file is cut off. */
  read(offset: number, size: number): Iterable<Buffer> {
    if (size === 0) {
      return [];
    }
    if (offset < this.#start || offset + size > this.#end) {
      if (size <= WINDOW_BYTES) {
        this.#start = offset;
        this.#end = offset + readSync(this.#fd, this.#window, 0, WINDOW_BYTES, offset);
      }
      if (offset + size > this.#end) {
        return readRange({ fd: this.#fd, offset, size }, this.#what);
      }
    }
    return [this.#window.subarray(offset - this.#start, offset - this.#start + size)];
  }
}

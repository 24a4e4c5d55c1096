import { ftruncateSync } from 'node:fs';
import { writeAll } from '../../daemon/base/kernel/files/files.ts';
import type { TarMember } from '../tar/parser.ts';
import type { SparseExtent } from '../tar/sparse.ts';

/** Writes a member's content into its new file: in a row, or, when it is sparse, each extent at its place. */
export class ContentWriter {
  readonly #fd: number;
  readonly #size: number;
  readonly #sparse: { extents: readonly SparseExtent[]; index: number; done: number } | undefined;

  constructor(fd: number, { size, sparse }: TarMember) {
    this.#fd = fd;
    this.#size = size;
    this.#sparse = sparse && { extents: sparse, index: 0, done: 0 };
  }

  /** The next bytes that the tar has of it. */
  write(bytes: Buffer): void {
    const sparse = this.#sparse;
    if (sparse === undefined) {
      writeAll(this.#fd, bytes);
      return;
    }
    let rest = bytes;
    while (rest.length > 0) {
      // The parser has seen to it that there are no more bytes than extents.
      const { offset, size } = sparse.extents[sparse.index]!;
      const part = rest.subarray(0, size - sparse.done);
      writeAll(this.#fd, part, offset + sparse.done);
      sparse.done += part.length;
      if (sparse.done === size) {
        sparse.index += 1;
        sparse.done = 0;
      }
      rest = rest.subarray(part.length);
    }
  }

  /** Makes the hole at the end. */
  finish(): void {
    if (this.#sparse !== undefined) {
      ftruncateSync(this.#fd, this.#size);
    }
  }
}

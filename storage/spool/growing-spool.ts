import type { FileHandle } from 'node:fs/promises';

/** Bytes between two looks at the free space. */
const SPACE_CHECK_BYTES = 64 * 1024 * 1024;

/** A file without a name that is filled piece by piece, and may be begun again. One writer. */
export class GrowingSpool implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #checkSpace: () => Promise<void>;
  #size = 0;
  #nextSpaceCheck = 0;

  /** `checkSpace` rejects when the disk is about to fill. */
  constructor(file: FileHandle, checkSpace: () => Promise<void>) {
    this.#file = file;
    this.#checkSpace = checkSpace;
  }

  get size(): number {
    return this.#size;
  }

  /** All threads of the process may read it. */
  get fd(): number {
    return this.#file.fd;
  }

  async append(chunks: readonly Buffer[]): Promise<void> {
    if (this.#size >= this.#nextSpaceCheck) {
      await this.#checkSpace();
      this.#nextSpaceCheck = this.#size + SPACE_CHECK_BYTES;
    }
    let rest = chunks;
    while (rest.length > 0) {
      const { bytesWritten } = await this.#file.writev(rest, this.#size);
      this.#size += bytesWritten;
      rest = after(rest, bytesWritten);
    }
  }

  /** Forgets everything written. */
  async reset(): Promise<void> {
    await this.#file.truncate(0);
    this.#size = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}

/** What of the chunks was not written. */
function after(chunks: readonly Buffer[], written: number): Buffer[] {
  const rest: Buffer[] = [];
  let skip = written;
  for (const chunk of chunks) {
    if (skip < chunk.length) {
      rest.push(chunk.subarray(skip));
    }
    skip = Math.max(0, skip - chunk.length);
  }
  return rest;
}

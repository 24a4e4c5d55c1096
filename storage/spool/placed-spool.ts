import type { FileHandle } from 'node:fs/promises';

/** Bytes gathered before they are written. */
const WRITE_BYTES = 1024 * 1024;
/** Bytes between two looks at the free space. */
const SPACE_CHECK_BYTES = 64 * 1024 * 1024;

interface Piece {
  position: number;
  bytes: Buffer;
}

/**
 * A file without a name for many contents that come at the same time: each has its place reserved, and is written there
 * piece by piece. One writer; all threads of the process may read what was flushed.
 */
export class PlacedSpool implements AsyncDisposable {
  readonly #file: FileHandle;
  readonly #checkSpace: () => Promise<void>;
  #size = 0;
  #pending: Piece[] = [];
  #pendingBytes = 0;
  #written = 0;
  #nextSpaceCheck = 0;

  /** `checkSpace` rejects when the disk is about to fill. */
  constructor(file: FileHandle, checkSpace: () => Promise<void>) {
    this.#file = file;
    this.#checkSpace = checkSpace;
  }

  get fd(): number {
    return this.#file.fd;
  }

  /** All that was reserved. */
  get size(): number {
    return this.#size;
  }

  /** Answers where the content goes. */
  reserve(bytes: number): number {
    const position = this.#size;
    this.#size += bytes;
    return position;
  }

  /** Within what was reserved. The bytes must not change until they are flushed. */
  put(position: number, bytes: Buffer): void {
    this.#pending.push({ position, bytes });
    this.#pendingBytes += bytes.length;
  }

  /** True when enough has gathered. */
  get isFull(): boolean {
    return this.#pendingBytes >= WRITE_BYTES;
  }

  async flush(): Promise<void> {
    const pieces = this.#pending.toSorted((a, b) => a.position - b.position);
    const bytes = this.#pendingBytes;
    this.#pending = [];
    this.#pendingBytes = 0;
    if (this.#written >= this.#nextSpaceCheck) {
      await this.#checkSpace();
      this.#nextSpaceCheck = this.#written + SPACE_CHECK_BYTES;
    }
    for (const run of runsOf(pieces)) {
      await this.#write(run);
    }
    this.#written += bytes;
  }

  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.#file.read(bytes, done, length - done, position + done);
      if (bytesRead === 0) {
        throw new RangeError(`a spool of ${this.#size} bytes was not filled at ${position + done}`);
      }
      done += bytesRead;
    }
    return bytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  async #write({ position, chunks }: Run): Promise<void> {
    const { bytesWritten } = await this.#file.writev(chunks, position);
    const total = chunks.reduce((sum, { length }) => sum + length, 0);
    if (bytesWritten < total) {
      // A short write: the rest on its own, which reports why.
      await this.#rest(Buffer.concat(chunks).subarray(bytesWritten), position + bytesWritten);
    }
  }

  async #rest(bytes: Buffer, position: number): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
  }
}

interface Run {
  position: number;
  chunks: Buffer[];
}

/** Pieces that lie side by side are one write. Pure. */
function runsOf(pieces: readonly Piece[]): Run[] {
  const runs: Run[] = [];
  let end = -1;
  for (const { position, bytes } of pieces) {
    const last = runs.at(-1);
    if (last !== undefined && position === end) {
      last.chunks.push(bytes);
    } else {
      runs.push({ position, chunks: [bytes] });
    }
    end = position + bytes.length;
  }
  return runs;
}

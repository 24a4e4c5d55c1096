import { Readable } from 'node:stream';
import type { Spool, SpoolDirectory } from '../tarballs/spool.ts';
import { decompress } from './decompress.ts';

/** Tars that clients send, put on disk before they are used. */
export class TarSpools {
  readonly #spools: SpoolDirectory;

  constructor(spools: SpoolDirectory) {
    this.#spools = spools;
  }

  /** See `SpoolDirectory.written`. */
  written(write: (fd: number) => Promise<number>): Promise<Spool> {
    return this.#spools.written(write);
  }

  /** Receives and decompresses all of it. Rejects as `SpoolDirectory.fill` and `decompress`; then nothing is left. */
  spool(
    source: Readable,
    options: { what: string; signal: AbortSignal; seen?: (chunk: Buffer) => void },
  ): Promise<Spool> {
    const plain = Readable.from(decompress(source, options.what), { objectMode: true, highWaterMark: 1 });
    return this.#spools.fill(plain, { ...options, inflate: false });
  }
}

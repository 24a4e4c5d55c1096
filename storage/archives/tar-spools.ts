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
  spool(source: Readable, { what, signal }: { what: string; signal: AbortSignal }): Promise<Spool> {
    const plain = Readable.from(decompress(source, what), { objectMode: true, highWaterMark: 1 });
    return this.#spools.fill(plain, { what, signal, inflate: false });
  }
}

import type { Readable } from 'node:stream';
import type { Spool, SpoolDirectory } from '../spool/spool.ts';

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

  /** Receives all of it as it is. Rejects as `SpoolDirectory.fill`; then nothing is left. */
  raw(
    source: Readable,
    options: { what: string; signal: AbortSignal; seen?: (chunk: Buffer) => void },
  ): Promise<Spool> {
    return this.#spools.fill(source, { ...options, decompress: false });
  }

  /** The same decompressed. */
  spool(
    source: Readable,
    options: { what: string; signal: AbortSignal; seen?: (chunk: Buffer) => void },
  ): Promise<Spool> {
    return this.#spools.fill(source, { ...options, decompress: true });
  }
}

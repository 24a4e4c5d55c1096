import type { Readable } from 'node:stream';
import type { PlacedSpool } from '../spool/placed-spool.ts';
import type { Spool, SpoolDirectory, SpoolOptions } from '../spool/spool.ts';
import type { Archives } from './archives.ts';
import type { ChangesRequest } from './changes.ts';

/** What was changed of an image's files, as the tar of a layer in a file without a name. */
export interface ChangesTar extends AsyncDisposable {
  readonly fd: number;
  readonly size: number;
  /** It holds no changes. */
  readonly isEmpty: boolean;
}

/** Tars put on disk before they are used: those that clients send, and those of changes. */
export class TarSpools {
  readonly #spools: SpoolDirectory;
  readonly #archives: Pick<Archives, 'layer'>;

  constructor(spools: SpoolDirectory, archives: Pick<Archives, 'layer'>) {
    this.#spools = spools;
    this.#archives = archives;
  }

  /** Writes the tar on a worker thread. Disposing gives the disk its space back. Rejects with nothing left. */
  async ofChanges(request: ChangesRequest, signal: AbortSignal): Promise<ChangesTar> {
    let changes = 0;
    const spool = await this.#spools.written(async (fd) => {
      const written = await this.#archives.layer(request, fd, signal);
      changes = written.changes;
      return written.bytes;
    });
    return {
      fd: spool.fd,
      size: spool.size,
      isEmpty: changes === 0,
      [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
    };
  }

  /** An empty file for the files of a client, which come at the same time. */
  placed(what: string): Promise<PlacedSpool> {
    return this.#spools.placed(what);
  }

  /** Receives all of it as it is. Rejects as `SpoolDirectory.fill`; then nothing is left. */
  raw(source: Readable, options: SpoolOptions): Promise<Spool> {
    return this.#spools.fill(source, { ...options, decompress: false });
  }

  /** The same decompressed. */
  spool(source: Readable, options: SpoolOptions): Promise<Spool> {
    return this.#spools.fill(source, { ...options, decompress: true });
  }
}

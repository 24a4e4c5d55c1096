import { createHash } from 'node:crypto';
import { rm, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { EngineError } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { DiskReserve } from '../disk-reserve.ts';
import { GrowingReader } from '../spool/growing-reader.ts';
import { toEngineError } from './upload-file.ts';

export interface IncomingPlace {
  path: string;
  file: FileHandle;
  /** Gives it the name of a blob. */
  place: (digest: string) => Promise<void>;
  reserve: DiskReserve;
}

/**
 * A blob that comes from elsewhere, for readers who do not wait until all of it is here. Its last byte is shown when
 * its digest was right: nobody takes another blob for it.
 */
export class IncomingBlob implements AsyncDisposable {
  readonly #place: IncomingPlace;
  readonly #blob: { digest: string; size: number };
  readonly #reader: GrowingReader;
  readonly #hash = createHash('sha256');
  #position = 0;

  constructor(place: IncomingPlace, blob: { digest: string; size: number }) {
    this.#place = place;
    this.#blob = blob;
    this.#reader = new GrowingReader(place.file.fd, blob.size);
  }

  get size(): number {
    return this.#blob.size;
  }

  /** Throws resource_exhausted. */
  async append(piece: Buffer): Promise<void> {
    const { file, reserve } = this.#place;
    try {
      reserve.check(this.#position);
      for (let done = 0; done < piece.length;) {
        const { bytesWritten } = await file.write(piece, done, piece.length - done, this.#position + done);
        done += bytesWritten;
      }
    } catch (error) {
      throw toEngineError(error);
    }
    this.#hash.update(piece);
    this.#position += piece.length;
    this.#reader.grown(Math.min(this.#position, this.#blob.size - 1));
  }

  /** Makes it a blob, for good when it resolves. Throws unavailable where it is another one. */
  async publish(): Promise<void> {
    const { digest, size } = this.#blob;
    const found = `sha256:${this.#hash.digest('hex')}`;
    if (found !== digest || this.#position !== size) {
      throw new EngineError('unavailable', `blob ${digest}: what came has the digest ${found}`);
    }
    const { file, place } = this.#place;
    try {
      failpoint('hub.fetch.sync');
      await file.sync();
      failpoint('hub.fetch.publish');
      await place(digest);
    } catch (error) {
      throw toEngineError(error);
    }
    this.#reader.grown(size);
  }

  /** No more will come: its readers get the error. */
  async fail(error: Error): Promise<void> {
    try {
      await rm(this.#place.path, { force: true });
    } finally {
      this.#reader.fail(error);
    }
  }

  stream(start: number, end: number): Readable {
    return this.#reader.stream(start, end);
  }

  /** When nobody reads it any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#place.file.close();
  }
}

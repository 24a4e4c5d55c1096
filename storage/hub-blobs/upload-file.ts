import { createHash, type Hash } from 'node:crypto';
import { open, rm, truncate } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { diskFull, errnoOf, isEngineError } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { DiskReserve } from '../disk-reserve.ts';
import { fill, UploadWriter } from './upload-writer.ts';

const READ_BYTES = 1024 * 1024;

export interface UploadPlace {
  path: string;
  /** Gives it the name of a blob. */
  place: (digest: string) => Promise<void>;
  reserve: () => DiskReserve;
}

/** An upload on disk. Its hash grows with it; only an upload of an earlier daemon is read again. */
export class HubUploadFile {
  readonly #place: UploadPlace;
  #size: number;
  /** Of the first `#size` bytes; undefined = they have to be read again. */
  #hash: Hash | undefined;

  constructor(place: UploadPlace, size: number) {
    this.#place = place;
    this.#size = size;
    this.#hash = size === 0 ? createHash('sha256') : undefined;
  }

  get size(): number {
    return this.#size;
  }

  async append(bytes: Readable, grow: (size: number) => void): Promise<void> {
    const { path, reserve } = this.#place;
    const hash = this.#hash ?? (await hashOf(path));
    this.#hash = undefined;
    await using file = await open(path, 'r+');
    failpoint('hub.upload.append');
    const writer = new UploadWriter({ file, position: this.#size, hash, reserve: reserve(), grow });
    try {
      await fill(writer, bytes);
      this.#hash = hash;
    } catch (error) {
      if (isEngineError(error, 'canceled')) {
        // What came is written, and hashed.
        this.#hash = hash;
      }
      throw toEngineError(error);
    } finally {
      this.#size = writer.position;
      if (this.#hash === undefined) {
        // A write that failed may have left more than was counted.
        await truncate(path, this.#size);
      }
    }
  }

  async digest(): Promise<string> {
    this.#hash ??= await hashOf(this.#place.path);
    return `sha256:${this.#hash.copy().digest('hex')}`;
  }

  async publish(digest: string): Promise<void> {
    const { path, place } = this.#place;
    try {
      await using file = await open(path, 'r+');
      failpoint('hub.upload.sync');
      await file.sync();
      failpoint('hub.upload.publish');
      await place(digest);
    } catch (error) {
      throw toEngineError(error);
    }
  }

  async remove(): Promise<void> {
    failpoint('hub.upload.remove');
    await rm(this.#place.path, { force: true });
  }
}

async function hashOf(path: string): Promise<Hash> {
  const hash = createHash('sha256');
  await using file = await open(path, 'r');
  for await (const piece of file.createReadStream({ highWaterMark: READ_BYTES, autoClose: false })) {
    // A file that is read without an encoding gives buffers.
    hash.update(piece as Buffer);
  }
  return hash;
}

/** A full disk has a name of its own. */
export function toEngineError(error: unknown): unknown {
  const isFull = ['ENOSPC', 'EDQUOT'].includes(errnoOf(error) ?? '');
  return isFull ? diskFull(NO_SPACE, { cause: error }) : error;
}

export const NO_SPACE = 'no space left on the disk of the hub';

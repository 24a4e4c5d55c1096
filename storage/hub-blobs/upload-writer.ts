import type { Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Writable, type Readable } from 'node:stream';
import { callbackify } from 'node:util';
import { EngineError } from '../../daemon/base/errors.ts';
import { DiskReserve } from '../disk-reserve.ts';

/** Bytes that may wait for the disk: what came while a write ran goes in one call with the next. */
const WAITING_BYTES = 2 * 1024 * 1024;
/** Bytes that are gathered before a write begins: to hand one to another thread takes longer than it does. */
const GATHERED_BYTES = 512 * 1024;
/** Bytes between two syncs in the background: what is left for the one at the end is short. */
const SYNC_BYTES = 32 * 1024 * 1024;

export interface WriterTarget {
  file: FileHandle;
  /** Where its bytes begin. */
  position: number;
  hash: Hash;
  reserve: DiskReserve;
  /** Told the size before it is reached; what it throws ends the upload. */
  grow: (size: number) => void;
}

/**
 * Writes an upload behind the bytes that came before, some at a time, and hashes each piece while the kernel takes it.
 * What is gathered when it is destroyed is lost.
 */
export class UploadWriter extends Writable {
  readonly #target: WriterTarget;
  #position: number;
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  #unsynced = 0;
  #syncing: Promise<void> | undefined;

  constructor(target: WriterTarget) {
    super({ highWaterMark: WAITING_BYTES });
    this.#target = target;
    this.#position = target.position;
  }

  /** Up to where it has written and hashed. */
  get position(): number {
    return this.#position;
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    this._writev([{ chunk }], done);
  }

  override _writev(chunks: readonly { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    for (const { chunk } of chunks) {
      this.#gathered.push(chunk);
      this.#gatheredBytes += chunk.length;
    }
    if (this.#gatheredBytes < GATHERED_BYTES) {
      done();
    } else {
      callbackify(() => this.#flush())(done);
    }
  }

  override _final(done: (error?: Error | null) => void): void {
    callbackify(async () => {
      await this.#flush();
      await this.#syncing;
    })(done);
  }

  async #flush(): Promise<void> {
    const pieces = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    if (pieces.length > 0) {
      await this.#put(pieces);
    }
  }

  async #put(pieces: Buffer[]): Promise<void> {
    const { file, hash, reserve, grow } = this.#target;
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    grow(this.#position + bytes);
    reserve.check(this.#position);
    const writing = file.writev(pieces, this.#position);
    pieces.forEach((piece) => hash.update(piece));
    const { bytesWritten } = await writing;
    if (bytesWritten < bytes) {
      const rest = Buffer.concat(pieces).subarray(bytesWritten);
      await writeAll(file, rest, this.#position + bytesWritten);
    }
    this.#position += bytes;
    this.#unsynced += bytes;
    if (this.#unsynced >= SYNC_BYTES) {
      this.#unsynced = 0;
      await this.#syncing;
      this.#syncing = file.datasync();
      // Told by the next that waits for it, `_final` at the latest: the kernel tells an error of a write only once.
      this.#syncing.catch(() => undefined);
    }
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/**
 * Writes all of a stream. It is left as it is when the writer fails, so that its sender can still be answered. What has
 * come of a stream that breaks off is written; then it throws canceled.
 */
export function fill(writer: UploadWriter, source: Readable): Promise<void> {
  return new Promise((resolve, reject) => {
    let broken: Error | undefined;
    const breakOff = (error?: Error): void => {
      if (!source.readableEnded && broken === undefined) {
        broken = new EngineError('canceled', 'the client hung up while sending', { cause: error });
        writer.end();
      }
    };
    const end = (): void => {
      source.unpipe(writer);
      source.off('error', breakOff);
      source.off('close', breakOff);
    };
    source.once('error', breakOff);
    source.once('close', breakOff);
    writer.once('error', (error) => {
      end();
      reject(error);
    });
    writer.once('finish', () => {
      end();
      if (broken === undefined) {
        resolve();
      } else {
        reject(broken);
      }
    });
    if (source.destroyed) {
      breakOff();
    }
    source.pipe(writer);
  });
}

import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { errnoOf } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { LogPin } from './pins.ts';
import { NEWLINE } from './record.ts';
import { hasCurrent, listSegments, readingPath } from './segments.ts';
import type { LogPosition, LogSegment } from './segments.ts';

/** Whole records, and where they stand. */
export interface LogChunk {
  bytes: Buffer;
  /** Bytes since the place where the reading began, over all files: what filters by offset compare with. */
  offset: number;
  generation: number;
  /** Offset of the first of these bytes within its file. */
  fileOffset: number;
}

/**
 * A log being read forwards: which file, how far, and the beginning of a record whose end is not written yet. Goes on
 * from file to file as they were rotated; what it has not read yet is pinned.
 */
export class LogSource implements AsyncDisposable {
  readonly #path: string;
  readonly #pin: LogPin;
  #file: FileHandle;
  #generation: number;
  #position: number;
  /** Bytes of the files before this one, counted from where the reading began. */
  #base = 0;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(path: string, file: FileHandle, at: LogPosition) {
    this.#path = path;
    this.#file = file;
    this.#generation = at.generation;
    this.#position = at.offset;
    this.#pin = new LogPin(path, at.generation);
  }

  /** Opens the log at a place, or at the oldest there is after it. Undefined when there is no file. */
  static async open(path: string, from: LogPosition): Promise<LogSource | undefined> {
    const opened = await openFrom(path, from.generation);
    if (opened === undefined) {
      return undefined;
    }
    const { file, generation } = opened;
    const offset = generation === from.generation ? from.offset : 0;
    return new LogSource(path, file, { generation, offset });
  }

  /** Where the next record begins. */
  get position(): LogPosition {
    return { generation: this.#generation, offset: this.#position - this.#rest.length };
  }

  /** The next whole records, possibly none; undefined at the end of what is written to this file. */
  async read(): Promise<LogChunk | undefined> {
    const kept = this.#rest.length;
    // A record longer than a chunk makes its buffer grow; the monitor's are at most 8 kB.
    const buffer = Buffer.allocUnsafeSlow(Math.max(limits.logChunkBytes, kept * 2));
    const { bytesRead } = await this.#file.read(buffer, kept, buffer.length - kept, this.#position);
    if (bytesRead === 0) {
      return undefined;
    }
    this.#rest.copy(buffer);
    const fileOffset = this.#position - kept;
    const offset = this.#base + fileOffset;
    this.#position += bytesRead;
    const filled = kept + bytesRead;
    const whole = buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1;
    // Copied, because the renderer makes its output in the buffer. What never ends is no record: dropped.
    this.#rest =
      filled - whole > limits.logRecordBytesMax
        ? Buffer.alloc(0)
        : Buffer.from(buffer.subarray(whole, filled));
    return { bytes: buffer.subarray(0, whole), offset, generation: this.#generation, fileOffset };
  }

  /**
   * At the end of a file: true when a later one is there to go on with. The monitor has left this file by then, so one
   * more `read` until undefined, then `next`.
   */
  isLeft(): boolean {
    const current = listSegments(this.#path).at(-1)?.generation ?? 0;
    return current > this.#generation + 1 || (current === this.#generation + 1 && hasCurrent(this.#path));
  }

  /** Goes on with the file after this one, which is read to its end. False when there is none. */
  next(): Promise<boolean> {
    return this.#goOnFrom(this.#generation + 1);
  }

  async #goOnFrom(generation: number): Promise<boolean> {
    const opened = await openFrom(this.#path, generation);
    if (opened === undefined) {
      return false;
    }
    await this.#file.close();
    this.#file = opened.file;
    this.#generation = opened.generation;
    this.#pin.generation = opened.generation;
    this.#startOver();
    return true;
  }

  /** After a change: from the start again when another program cut the file short, or put another in its place. */
  async followOthers(): Promise<void> {
    const { size, nlink } = await this.#file.stat();
    if (size < this.#position) {
      this.#startOver();
    } else if (nlink === 0 && size === this.#position && !this.isLeft()) {
      await this.#goOnFrom(this.#generation);
    }
  }

  #startOver(): void {
    this.#base += this.#position;
    this.#position = 0;
    this.#rest = Buffer.alloc(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pin[Symbol.dispose]();
    await this.#file.close();
  }
}

/** Times a file may be rotated, compressed or removed between looking and opening. */
const OPEN_ATTEMPTS = 20;

/** The oldest file from this generation on; undefined when there is none. */
async function openFrom(
  path: string,
  generation: number,
): Promise<{ file: FileHandle; generation: number } | undefined> {
  for (let attempt = 0; attempt < OPEN_ATTEMPTS; attempt += 1) {
    const segments = listSegments(path);
    const segment =
      segments.find((one) => one.generation >= generation) ??
      // A place beyond the last file: of a log that was removed by hand.
      segments.at(-1);
    const file = segment && (await openSegment(segment));
    if (segment === undefined || (file === undefined && segment.kind === 'current')) {
      return undefined;
    }
    // What was opened under the name of the current file is that generation only if none began meanwhile.
    if (file !== undefined && isStill(path, segment)) {
      return { file, generation: segment.generation };
    }
    await file?.close();
  }
  return undefined;
}

function isStill(path: string, segment: LogSegment): boolean {
  return segment.kind !== 'current' || listSegments(path).at(-1)?.generation === segment.generation;
}

/** Undefined when it is not there (any more). A compressed one is unpacked to a file without a name. */
export async function openSegment(segment: LogSegment): Promise<FileHandle | undefined> {
  try {
    return segment.kind === 'compressed' ? await openUnpacked(segment) : await open(segment.path, 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

async function openUnpacked(segment: LogSegment): Promise<FileHandle> {
  const path = readingPath(segment, randomUUID().slice(0, 8));
  try {
    await pipeline(createReadStream(segment.path), createGunzip(), createWriteStream(path, { mode: 0o600 }));
    return await open(path, 'r');
  } finally {
    await rm(path, { force: true });
  }
}

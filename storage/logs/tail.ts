import type { FileHandle } from 'node:fs/promises';
import { STREAM_NUMBER } from '../../daemon/base/stdio/frames.ts';
import { NEWLINE, newRecordAt, readRecord } from './record.ts';

/** Read backwards in steps of this size: a page of lines is found in one read. */
const BLOCK_BYTES = 64 * 1024;
/** How far back the first pieces of an unterminated long line are looked for once enough lines are found. */
const JOIN_BYTES_MAX = 1024 * 1024;

/** Offsets from which the records of each stream belong to the last lines. */
export interface TailStart {
  stdout: number;
  stderr: number;
}

/**
 * Finds the last `lines` lines of the first `size` bytes by reading backwards. A line of several pieces counts once,
 * and so does an unterminated one at the end; lines of both streams count together, as `docker logs --tail` does.
 */
export async function findTail(file: FileHandle, size: number, lines: number): Promise<TailStart> {
  const search = new TailSearch(size, lines);
  let position = size;
  /** Start of a record of which only the end was read so far. */
  let rest: Buffer = Buffer.alloc(0);
  while (position > 0 && !search.isOver(position)) {
    const length = Math.min(BLOCK_BYTES, position);
    position -= length;
    const block = Buffer.allocUnsafe(length + rest.length);
    await readExactly(file, block.subarray(0, length), position);
    rest.copy(block, length);
    rest = search.walk(block, position);
  }
  return search.result();
}

class TailSearch {
  readonly #lines: number;
  readonly #size: number;
  readonly #at = newRecordAt();
  #found = 0;
  /** Where enough lines had been found; undefined before. */
  #enoughAt: number | undefined;
  /** Index = stream number: 1 stdout, 2 stderr. */
  readonly #start: [never: number, stdout: number, stderr: number];
  /** Streams with a counted line whose earlier pieces may still come. */
  readonly #open: [never: boolean, stdout: boolean, stderr: boolean] = [false, false, false];

  constructor(size: number, lines: number) {
    this.#size = size;
    this.#lines = lines;
    this.#start = [size, size, size];
    if (lines <= 0) {
      this.#enoughAt = size;
    }
  }

  isOver(position: number): boolean {
    const enoughAt = this.#enoughAt;
    return enoughAt !== undefined && (!this.#open.includes(true) || enoughAt - position > JOIN_BYTES_MAX);
  }

  /** Visits the whole records of a block, last first; returns the bytes before its first newline. */
  walk(block: Buffer, position: number): Buffer {
    let end = block.lastIndexOf(NEWLINE);
    while (end >= 0) {
      const before = end === 0 ? -1 : block.lastIndexOf(NEWLINE, end - 1);
      if (before < 0 && position > 0) {
        // The record may begin in the block before this one: hand over all up to and with its newline.
        return Buffer.from(block.subarray(0, end + 1));
      }
      if (readRecord(block, before + 1, end, this.#at)) {
        this.#visit(this.#at.stream === STREAM_NUMBER.stdout ? 1 : 2, position + before + 1);
      }
      if (this.isOver(position + before + 1)) {
        return Buffer.alloc(0);
      }
      end = before;
    }
    return Buffer.from(block);
  }

  #visit(stream: 1 | 2, offset: number): void {
    const { complete } = this.#at;
    const continues = !complete && (this.#open[stream] || this.#start[stream] === this.#size);
    if (continues && this.#open[stream]) {
      this.#start[stream] = offset;
      return;
    }
    if (this.#found < this.#lines) {
      this.#found += 1;
      this.#start[stream] = offset;
      this.#open[stream] = true;
    } else {
      this.#open[stream] = false;
    }
    if (this.#found >= this.#lines) {
      this.#enoughAt ??= offset;
    }
  }

  result(): TailStart {
    return { stdout: this.#start[1], stderr: this.#start[2] };
  }
}

async function readExactly(file: FileHandle, target: Buffer, position: number): Promise<void> {
  let filled = 0;
  while (filled < target.length) {
    const { bytesRead } = await file.read(target, filled, target.length - filled, position + filled);
    if (bytesRead === 0) {
      // The file shrank under us (rotation): what is missing reads as no records.
      target.fill(0, filled);
      return;
    }
    filled += bytesRead;
  }
}

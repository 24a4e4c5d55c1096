import type { FileHandle } from 'node:fs/promises';
import { limits } from '../../daemon/base/limits.ts';
import { STREAM_NUMBER } from '../../daemon/base/stdio/frames.ts';
import { NEWLINE, newRecordAt, readRecord } from './record.ts';
import { listSegments } from './segments.ts';
import type { LogPosition } from './segments.ts';
import { openSegment } from './source.ts';

/** Read backwards in steps of this size: a page of lines is found in one read. */
const BLOCK_BYTES = 64 * 1024;

/** Where the last lines begin. */
export interface TailStart {
  /** The file to begin with, and the offset in it. */
  start: LogPosition;
  /** Offsets from which the records of each stream belong to the last lines, counted from the start of that file. */
  records: { stdout: number; stderr: number };
}

/**
 * Finds the last `lines` lines by reading the files backwards, newest first. A line of several pieces counts once,
 * and so does an unterminated one at the end; lines of both streams count together, as `docker logs --tail` does.
 */
export async function findTail(path: string, lines: number): Promise<TailStart> {
  const segments = listSegments(path).toReversed();
  const search = new TailSearch(lines);
  /** Offset 0 is the start of the newest file; older ones lie below it. */
  let base = 0;
  const searched: { base: number; generation: number }[] = [];
  for (const segment of segments) {
    const file = await openSegment(segment);
    if (file === undefined) {
      // The current one between a rotation and the monitor's next line, or one that was removed meanwhile.
      continue;
    }
    await using _file = file;
    const { size } = await file.stat();
    if (segment !== segments[0]) {
      base -= size;
    }
    search.endsAt(base + size);
    searched.push({ base, generation: segment.generation });
    await searchFile(file, { size, base }, search);
    if (search.isOver(base)) {
      break;
    }
  }
  const { stdout, stderr } = search.result();
  const first = Math.min(stdout, stderr);
  // Newest first: the file that this place lies in.
  const from = searched.find((one) => one.base <= first) ?? { base: 0, generation: 0 };
  return {
    start: { generation: from.generation, offset: first - from.base },
    records: { stdout: stdout - from.base, stderr: stderr - from.base },
  };
}

async function searchFile(
  file: FileHandle,
  { size, base }: { size: number; base: number },
  search: TailSearch,
): Promise<void> {
  let position = size;
  /** Start of a record of which only the end was read so far. */
  let rest: Buffer = Buffer.alloc(0);
  while (position > 0 && !search.isOver(base + position)) {
    const length = Math.min(BLOCK_BYTES, position);
    position -= length;
    const block = Buffer.allocUnsafe(length + rest.length);
    await readExactly(file, block.subarray(0, length), position);
    rest.copy(block, length);
    rest = search.walk(block, base + position, position === 0);
  }
}

class TailSearch {
  readonly #lines: number;
  readonly #at = newRecordAt();
  #found = 0;
  /** Where enough lines had been found; undefined before. */
  #enoughAt: number | undefined;
  /** Index = stream number: 1 stdout, 2 stderr. Infinite = no line of it is wanted. */
  readonly #start: [never: number, stdout: number, stderr: number] = [Infinity, Infinity, Infinity];
  /** Behind the last record of the newest file. */
  #end: number | undefined;
  /** Streams with a counted line whose earlier pieces may still come. */
  readonly #open: [never: boolean, stdout: boolean, stderr: boolean] = [false, false, false];

  constructor(lines: number) {
    this.#lines = lines;
  }

  /** The next file to be searched ends at this offset. */
  endsAt(offset: number): void {
    this.#end ??= offset;
    if (this.#lines <= 0) {
      this.#enoughAt ??= offset;
    }
  }

  isOver(position: number): boolean {
    const enoughAt = this.#enoughAt;
    return (
      enoughAt !== undefined && (!this.#open.includes(true) || enoughAt - position > limits.logJoinBytesMax)
    );
  }

  /** Visits the whole records of a block, last first; returns the bytes before its first newline. */
  walk(block: Buffer, position: number, isFileStart: boolean): Buffer {
    let end = block.lastIndexOf(NEWLINE);
    while (end >= 0) {
      const before = end === 0 ? -1 : block.lastIndexOf(NEWLINE, end - 1);
      if (before < 0 && !isFileStart) {
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
    const continues = !complete && (this.#open[stream] || this.#start[stream] === Infinity);
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

  /** Offsets of the first wanted record of each stream; the end of the log when there is none. */
  result(): { stdout: number; stderr: number } {
    const end = this.#end ?? 0;
    return { stdout: Math.min(this.#start[1], end), stderr: Math.min(this.#start[2], end) };
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

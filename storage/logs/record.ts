import { STREAM_NUMBER } from '../../daemon/base/stdio/frames.ts';

/**
 * One record of the log that the monitor writes (CRI log format):
 *
 *   2026-01-02T03:04:05.678901234+00:00 stdout F the line\n
 *   2026-01-02T03:04:05.678901234+00:00 stdout P a piece that no newline followed\n
 *
 * A record is described by offsets into the buffer it stands in: most of them are never looked at as text.
 */
export const NEWLINE = 0x0a;
const SPACE = 0x20;
const NUL = 0x00;
const LETTER_F = 0x46;
const LETTER_P = 0x50;
const LETTER_E = 0x65;
const LETTER_O = 0x6f;
/** Between the time stamp and the content: ` stdout F `. */
const TAG_BYTES = 10;
/** What conmon writes: nanoseconds and a numeric zone. */
const TIMESTAMP_BYTES = 35;
const TIMESTAMP_BYTES_MAX = 40;

/** Where the parts of the record found last stand. One object is reused for all records of a reader. */
export interface RecordAt {
  timestampStart: number;
  timestampEnd: number;
  contentStart: number;
  /** 1 or 2, as in a frame. */
  stream: number;
  /** False for a piece: no newline followed in the output. */
  complete: boolean;
}

export function newRecordAt(): RecordAt {
  return { timestampStart: 0, timestampEnd: 0, contentStart: 0, stream: 0, complete: true };
}

/**
 * Reads the record in `start..end` (`end` = its newline) into `at`. False for what is not a record: a torn write, the
 * zeros a file system leaves after a power cut. Zeros before a whole record are stepped over.
 */
export function readRecord(buffer: Buffer, start: number, end: number, at: RecordAt): boolean {
  let first = start;
  while (buffer[first] === NUL && first < end) {
    first += 1;
  }
  let space = first + TIMESTAMP_BYTES;
  if (buffer[space] !== SPACE) {
    space = buffer.subarray(first, Math.min(end, first + TIMESTAMP_BYTES_MAX)).indexOf(SPACE) + first;
    if (space < first) {
      return false;
    }
  }
  const contentStart = space + TAG_BYTES;
  const letter = buffer[space + 4];
  const tag = buffer[space + 8];
  if (
    contentStart > end ||
    buffer[space + 7] !== SPACE ||
    buffer[space + 9] !== SPACE ||
    (letter !== LETTER_O && letter !== LETTER_E) ||
    (tag !== LETTER_F && tag !== LETTER_P)
  ) {
    return false;
  }
  at.timestampStart = first;
  at.timestampEnd = space;
  at.contentStart = contentStart;
  at.stream = letter === LETTER_O ? STREAM_NUMBER.stdout : STREAM_NUMBER.stderr;
  at.complete = tag === LETTER_F;
  return true;
}

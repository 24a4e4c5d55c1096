import { FRAME_HEADER_BYTES, STREAM_NUMBER, writeFrameHeader } from '../../daemon/base/stdio/frames.ts';
import { NEWLINE, newRecordAt, readRecord } from './record.ts';
import { TimestampReader } from './timestamp.ts';

/** Which records a client wants and how they are to look. */
export interface RenderOptions {
  stdout: boolean;
  stderr: boolean;
  /** Inclusive, nanoseconds since the epoch. */
  sinceNano?: bigint;
  untilNano?: bigint;
  timestamps: boolean;
  /** What `details` puts before a line; undefined = not asked for. */
  details?: string;
  /** Raw bytes instead of frames. */
  tty: boolean;
  /** Offsets before which records of a stream are left out (from `tail`), counted as `render` is told. */
  fromOffsets?: { stdout: number; stderr: number };
}

/** The outcome of rendering one buffer. */
export interface Rendered {
  output: Buffer;
  /** A record after `until` was met: nothing more will come. */
  finished: boolean;
}

/** Turns whole records into what the client reads. Keeps state from buffer to buffer. */
export interface Renderer {
  /** `fileOffset` is where the buffer starts in the log. The buffer is given away: the output may be made in it. */
  render(buffer: Buffer, fileOffset: number): Rendered;
}

export function newRenderer(options: RenderOptions): Renderer {
  const needsText =
    options.timestamps ||
    options.details !== undefined ||
    options.sinceNano !== undefined ||
    options.untilNano !== undefined;
  return needsText ? new TextRenderer(options) : new PlainRenderer(options);
}

/**
 * The fast path: no text is decoded and nothing is allocated. A record's prefix is longer than a frame header, so the
 * output is moved together in the buffer that was read.
 */
class PlainRenderer implements Renderer {
  readonly #options: RenderOptions;
  readonly #at = newRecordAt();

  constructor(options: RenderOptions) {
    this.#options = options;
  }

  render(buffer: Buffer, fileOffset: number): Rendered {
    const { tty } = this.#options;
    const at = this.#at;
    const fromStdout = this.#options.stdout
      ? (this.#options.fromOffsets?.stdout ?? 0)
      : Number.POSITIVE_INFINITY;
    const fromStderr = this.#options.stderr
      ? (this.#options.fromOffsets?.stderr ?? 0)
      : Number.POSITIVE_INFINITY;
    let read = 0;
    let written = 0;
    for (let end = buffer.indexOf(NEWLINE, read); end >= 0; end = buffer.indexOf(NEWLINE, read)) {
      const start = read;
      read = end + 1;
      if (!readRecord(buffer, start, end, at)) {
        continue;
      }
      if (fileOffset + start < (at.stream === STREAM_NUMBER.stdout ? fromStdout : fromStderr)) {
        continue;
      }
      const contentEnd = at.complete ? end + 1 : end;
      const length = contentEnd - at.contentStart;
      if (!tty) {
        writeFrameHeader(buffer, written, at.stream, length);
        written += FRAME_HEADER_BYTES;
      }
      buffer.copyWithin(written, at.contentStart, contentEnd);
      written += length;
    }
    return { output: buffer.subarray(0, written), finished: false };
  }
}

/** The path that looks at time stamps: `since`, `until`, `timestamps`, `details`. */
class TextRenderer implements Renderer {
  readonly #options: RenderOptions;
  readonly #at = newRecordAt();
  readonly #times = new TimestampReader();
  /** A piece was the last record of this stream: the next one continues its line and gets no prefix. */
  readonly #inLine = { [STREAM_NUMBER.stdout]: false, [STREAM_NUMBER.stderr]: false };

  constructor(options: RenderOptions) {
    this.#options = options;
  }

  render(buffer: Buffer, fileOffset: number): Rendered {
    const at = this.#at;
    const pieces: Buffer[] = [];
    let read = 0;
    for (let end = buffer.indexOf(NEWLINE, read); end >= 0; end = buffer.indexOf(NEWLINE, read)) {
      const start = read;
      read = end + 1;
      if (!readRecord(buffer, start, end, at)) {
        continue;
      }
      const verdict = this.#judge(buffer, fileOffset + start);
      if (verdict === 'finished') {
        return { output: Buffer.concat(pieces), finished: true };
      }
      if (verdict === 'wanted') {
        this.#push(pieces, buffer, end);
      }
    }
    return { output: Buffer.concat(pieces), finished: false };
  }

  #judge(buffer: Buffer, offset: number): 'wanted' | 'unwanted' | 'finished' {
    const { stdout, stderr, sinceNano, untilNano, fromOffsets: from } = this.#options;
    const isStdout = this.#at.stream === STREAM_NUMBER.stdout;
    if (sinceNano !== undefined || untilNano !== undefined) {
      const nano = this.#times.nano(buffer, this.#at.timestampStart, this.#at.timestampEnd);
      if (untilNano !== undefined && nano !== undefined && nano > untilNano) {
        return 'finished';
      }
      if (sinceNano !== undefined && nano !== undefined && nano < sinceNano) {
        return 'unwanted';
      }
    }
    const isWanted = isStdout
      ? stdout && offset >= (from?.stdout ?? 0)
      : stderr && offset >= (from?.stderr ?? 0);
    return isWanted ? 'wanted' : 'unwanted';
  }

  #push(pieces: Buffer[], buffer: Buffer, end: number): void {
    const { stream, complete, contentStart } = this.#at;
    const prefix = this.#prefix(buffer);
    const content = buffer.subarray(contentStart, complete ? end + 1 : end);
    if (!this.#options.tty) {
      const header = Buffer.allocUnsafe(FRAME_HEADER_BYTES);
      writeFrameHeader(header, 0, stream, prefix.length + content.length);
      pieces.push(header);
    }
    pieces.push(prefix, content);
  }

  #prefix(buffer: Buffer): Buffer {
    const { timestamps, details } = this.#options;
    const { timestampStart, timestampEnd, complete } = this.#at;
    const stream = this.#at.stream === STREAM_NUMBER.stdout ? STREAM_NUMBER.stdout : STREAM_NUMBER.stderr;
    const continues = this.#inLine[stream];
    this.#inLine[stream] = !complete;
    if (continues) {
      return Buffer.alloc(0);
    }
    const time = timestamps ? `${this.#times.text(buffer, timestampStart, timestampEnd) ?? ''} ` : '';
    return Buffer.from(details === undefined ? time : `${time}${details} `);
  }
}

import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { LogMessage } from '../../daemon/base/log-message.ts';
import { STREAM_NUMBER } from '../../daemon/base/stdio/frames.ts';
import { NEWLINE, newRecordAt, readRecord } from './record.ts';
import { listSegments } from './segments.ts';
import type { LogPosition } from './segments.ts';
import { LogSource } from './source.ts';
import { TimestampReader } from './timestamp.ts';

/** Messages in the order they were written, and where to go on once they are delivered. */
export interface SpoolBatch {
  messages: LogMessage[];
  position: LogPosition;
}

/** A line of which only pieces were written so far. */
interface OpenLine {
  pieces: Buffer[];
  bytes: number;
  nano: bigint;
  /** Where its first piece that is not in a message yet stands. */
  start: LogPosition;
  /** Of the messages already made of it. */
  sent: { id: string; ordinal: number } | undefined;
}

type Stream = LogMessage['stream'];

/** Reads a log as messages: pieces of a line are joined up to `messageBytesMax`, longer lines come in parts. */
export class SpoolReader implements AsyncDisposable {
  readonly #path: string;
  readonly #source: LogSource;
  readonly #messageBytesMax: number;
  readonly #at = newRecordAt();
  readonly #times = new TimestampReader();
  readonly #open: Record<Stream, OpenLine | undefined> = { stdout: undefined, stderr: undefined };

  private constructor(path: string, source: LogSource, messageBytesMax: number) {
    this.#path = path;
    this.#source = source;
    this.#messageBytesMax = messageBytesMax;
  }

  /** Undefined when there is no log yet. */
  static async open(
    path: string,
    from: LogPosition,
    messageBytesMax: number,
  ): Promise<SpoolReader | undefined> {
    const source = await LogSource.open(path, from);
    return source && new SpoolReader(path, source, messageBytesMax);
  }

  /** The next messages, possibly none; undefined at the end of what is written. */
  async next(): Promise<SpoolBatch | undefined> {
    const isLeft = this.#source.isLeft();
    const chunk = await this.#source.read();
    if (chunk === undefined) {
      if (!isLeft) {
        return undefined;
      }
      // A line may go on in the next file; one that has long been open does not keep old files: its pieces go now.
      const messages = this.#flush(this.#source.position.generation);
      return (await this.#source.next()) ? { messages, position: this.#position() } : undefined;
    }
    const messages: LogMessage[] = [];
    let read = 0;
    for (let end = chunk.bytes.indexOf(NEWLINE); end >= 0; end = chunk.bytes.indexOf(NEWLINE, read)) {
      const start = read;
      read = end + 1;
      if (readRecord(chunk.bytes, start, end, this.#at)) {
        this.#add(chunk.bytes.subarray(this.#at.contentStart, end), chunk.bytes, messages, {
          generation: chunk.generation,
          offset: chunk.fileOffset + start,
        });
      }
    }
    return { messages, position: this.#position() };
  }

  /** Nothing more will be written: unfinished lines as they are. */
  finish(): SpoolBatch {
    const messages = this.#flush(Number.POSITIVE_INFINITY);
    return { messages, position: this.#position() };
  }

  /** Of lines that began in files before this generation. */
  #flush(generation: number): LogMessage[] {
    const messages: LogMessage[] = [];
    for (const stream of ['stdout', 'stderr'] as const) {
      const line = this.#open[stream];
      if (line === undefined || line.start.generation >= generation) {
        continue;
      }
      this.#open[stream] = undefined;
      if (line.bytes > 0) {
        messages.push(message(stream, line, true));
      }
    }
    return messages;
  }

  /** Bytes that are written and not read yet. */
  unreadBytes(): number {
    const { generation, offset } = this.#source.position;
    return listSegments(this.#path)
      .filter((segment) => segment.generation >= generation)
      .reduce((sum, { path }) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), -offset);
  }

  #position(): LogPosition {
    const starts = Object.values(this.#open).flatMap((line) => (line === undefined ? [] : [line.start]));
    return [...starts, this.#source.position].reduce((a, b) => (isBefore(b, a) ? b : a));
  }

  #add(content: Buffer, bytes: Buffer, messages: LogMessage[], start: LogPosition): void {
    const stream = this.#at.stream === STREAM_NUMBER.stdout ? 'stdout' : 'stderr';
    const nano = this.#times.nano(bytes, this.#at.timestampStart, this.#at.timestampEnd) ?? 0n;
    let line = this.#open[stream];
    if (line === undefined && this.#at.complete && content.length <= this.#messageBytesMax) {
      messages.push({ stream, nano, line: content });
      return;
    }
    line ??= { pieces: [], bytes: 0, nano, start, sent: undefined };
    if (line.bytes === 0) {
      line.start = start;
    }
    this.#open[stream] = this.#at.complete ? undefined : line;
    let rest = content;
    while (line.bytes + rest.length > this.#messageBytesMax) {
      const room = this.#messageBytesMax - line.bytes;
      append(line, rest.subarray(0, room));
      rest = rest.subarray(room);
      messages.push(message(stream, line, false));
      line.start = start;
    }
    append(line, rest);
    if (this.#at.complete) {
      messages.push(message(stream, line, true));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source[Symbol.asyncDispose]();
  }
}

function append(line: OpenLine, piece: Buffer): void {
  line.pieces.push(piece);
  line.bytes += piece.length;
}

/** What was gathered of a line, which starts over. */
function message(stream: Stream, line: OpenLine, last: boolean): LogMessage {
  const content = Buffer.concat(line.pieces);
  line.pieces = [];
  line.bytes = 0;
  if (last && line.sent === undefined) {
    return { stream, nano: line.nano, line: content };
  }
  line.sent = { id: line.sent?.id ?? randomUUID(), ordinal: (line.sent?.ordinal ?? 0) + 1 };
  return { stream, nano: line.nano, line: content, partial: { ...line.sent, last } };
}

function isBefore(a: LogPosition, b: LogPosition): boolean {
  return a.generation < b.generation || (a.generation === b.generation && a.offset < b.offset);
}

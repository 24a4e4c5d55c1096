/**
 * Bodies of both directions: a line of JSON for each value, `{"v": value}`, and one last `{"end": true}` or
 * `{"error": ...}`. Bytes come as they are after a line that counts them, `{"b": 512}`. A body without a last line was
 * cut off.
 */
import type { Http2Stream } from 'node:http2';
import { EngineError, errorText, isEngineError, type ErrorCode } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';

interface Line {
  v?: unknown;
  b?: number;
  end?: true;
  error?: { code: ErrorCode; message: string; details?: Record<string, unknown> };
}

const LINE_FEED = 0x0a;
const END: Line = { end: true };

/**
 * Sends values, a Buffer as bytes, and the last line; where `values` throws, its error. Resolves when all was handed to
 * the connection.
 */
export async function send(stream: Http2Stream, values: AsyncIterable<unknown>): Promise<void> {
  let last = END;
  try {
    for await (const value of values) {
      await write(stream, Buffer.isBuffer(value) ? withCount(value) : [lineOf(value)]);
    }
  } catch (error) {
    last = { error: toWire(error) };
  }
  if (!stream.destroyed && !stream.writableEnded) {
    stream.end(`${JSON.stringify(last)}\n`);
  }
}

/** Values as they come. Throws what the other side sent as its error, and unavailable where the connection is lost. */
export async function* receive(stream: Http2Stream, bytesMax: () => number): AsyncGenerator {
  for await (const item of items(stream, bytesMax)) {
    if (Buffer.isBuffer(item)) {
      yield item;
      continue;
    }
    if (item.error !== undefined) {
      throw fromWire(item.error);
    }
    if (item.end === true) {
      return;
    }
    yield item.v;
  }
  throw lost();
}

/** Reads what is left of a body that has been answered, so that it ends; one that does not is cut. */
export function drain(stream: Http2Stream): void {
  let left: number = limits.swarmStrangerBytesMax;
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) {
      stream.close();
    }
  });
}

/** The only value of a body. */
export async function receiveOne(stream: Http2Stream, bytesMax: () => number): Promise<unknown> {
  for await (const value of receive(stream, bytesMax)) {
    return value;
  }
  throw new EngineError('invalid_argument', 'a call between nodes brought nothing');
}

export async function* only(value: unknown): AsyncGenerator {
  yield value;
}

export function lost(cause?: unknown): EngineError {
  const why = cause === undefined ? '' : `: ${errorText(cause)}`;
  return new EngineError('unavailable', `the connection to the other node is lost${why}`, { cause });
}

/** Lines, and the bytes that some of them count. */
async function* items(stream: Http2Stream, bytesMax: () => number): AsyncGenerator<Line | Buffer> {
  const gathered = new Gathered(bytesMax);
  try {
    // What is left of the body is the caller's matter: the stream has an answer to carry yet.
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      // A stream without an encoding gives buffers.
      yield* gathered.take(chunk as Buffer);
    }
  } catch (error) {
    throw isEngineError(error) ? error : lost(error);
  }
}

/** What has come of the next item. Throws resource_exhausted where that is too large. */
class Gathered {
  readonly #bytesMax: () => number;
  #pieces: Buffer[] = [];
  #size = 0;
  /** How many bytes come now, in place of a line. */
  #counted: number | undefined;

  constructor(bytesMax: () => number) {
    this.#bytesMax = bytesMax;
  }

  *take(chunk: Buffer): Generator<Line | Buffer> {
    let rest = chunk;
    while (rest.length > 0) {
      const end = this.#counted === undefined ? rest.indexOf(LINE_FEED) : this.#counted - this.#size;
      const isWhole = end >= 0 && end <= rest.length;
      this.#add(isWhole ? rest.subarray(0, end) : rest);
      if (!isWhole) {
        return;
      }
      rest = rest.subarray(this.#counted === undefined ? end + 1 : end);
      const item = this.#whole();
      if (item !== undefined) {
        yield item;
      }
    }
  }

  #add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#size += piece.length;
    this.#check(this.#size);
  }

  /** Undefined for a line that counts bytes. */
  #whole(): Line | Buffer | undefined {
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    if (this.#counted !== undefined) {
      this.#counted = undefined;
      return bytes;
    }
    const line = parse(bytes.toString());
    if (line.b === undefined) {
      return line;
    }
    if (!Number.isSafeInteger(line.b) || line.b <= 0) {
      throw new EngineError('invalid_argument', 'a line between nodes counts no bytes');
    }
    this.#check(line.b);
    this.#counted = line.b;
    return undefined;
  }

  #check(size: number): void {
    if (size > this.#bytesMax()) {
      throw tooLarge(this.#bytesMax());
    }
  }
}

/** Nothing for no bytes. */
function withCount(bytes: Buffer): (string | Buffer)[] {
  if (bytes.length > limits.swarmMessageBytesMax) {
    throw tooLarge(limits.swarmMessageBytesMax);
  }
  return bytes.length === 0 ? [] : [`${JSON.stringify({ b: bytes.length } satisfies Line)}\n`, bytes];
}

function tooLarge(bytesMax: number): EngineError {
  return new EngineError('resource_exhausted', `a value of more than ${bytesMax} bytes between nodes`);
}

function lineOf(value: unknown): string {
  const text = `${JSON.stringify({ v: value } satisfies Line)}\n`;
  if (text.length > limits.swarmMessageBytesMax) {
    throw tooLarge(limits.swarmMessageBytesMax);
  }
  return text;
}

async function write(stream: Http2Stream, parts: readonly (string | Buffer)[]): Promise<void> {
  for (const part of parts) {
    if (stream.destroyed || stream.writableEnded) {
      throw lost();
    }
    await new Promise<void>((resolve, reject) => {
      stream.write(part, (error) => (error ? reject(lost(error)) : resolve()));
    });
  }
}

function parse(text: string): Line {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === 'object' && line !== null ? line : {};
  } catch (error) {
    throw new EngineError('invalid_argument', `a line between nodes is no JSON: ${errorText(error)}`);
  }
}

/** A bug shows itself as internal, without more than its words. */
function toWire(error: unknown): NonNullable<Line['error']> {
  return isEngineError(error)
    ? { code: error.code, message: error.message, details: error.details }
    : { code: 'internal', message: errorText(error) };
}

/** A code of a later version counts as internal. */
function fromWire({ code, message, details }: NonNullable<Line['error']>): EngineError {
  const known: ErrorCode = CODES.has(code) ? code : 'internal';
  return new EngineError(known, message, details === undefined ? {} : { details });
}

const CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'not_found',
  'conflict',
  'not_modified',
  'invalid_argument',
  'unauthorized',
  'forbidden',
  'unavailable',
  'remote',
  'not_implemented',
  'canceled',
  'deadline_exceeded',
  'resource_exhausted',
  'failed_precondition',
  'internal',
]);

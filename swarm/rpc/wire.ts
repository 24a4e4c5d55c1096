/**
 * Bodies of both directions: a line of JSON each, `{"v": value}`, and one last `{"end": true}` or `{"error": ...}`.
 * A body without a last line was cut off.
 */
import type { Http2Stream } from 'node:http2';
import { EngineError, errorText, isEngineError, type ErrorCode } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';

interface Line {
  v?: unknown;
  end?: true;
  error?: { code: ErrorCode; message: string; details?: Record<string, unknown> };
}

const LINE_FEED = 0x0a;
const END: Line = { end: true };

/** Sends values and the last line; where `values` throws, its error. Resolves when all was handed to the connection. */
export async function send(stream: Http2Stream, values: AsyncIterable<unknown>): Promise<void> {
  let last = END;
  try {
    for await (const value of values) {
      await write(stream, lineOf(value));
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
  for await (const text of lines(stream, bytesMax)) {
    const line = parse(text);
    if (line.error !== undefined) {
      throw fromWire(line.error);
    }
    if (line.end === true) {
      return;
    }
    yield line.v;
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

async function* lines(stream: Http2Stream, bytesMax: () => number): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  let size = 0;
  try {
    // What is left of the body is the caller's matter: the stream has an answer to carry yet.
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      // A stream without an encoding gives buffers.
      let rest = chunk as Buffer;
      for (let at = rest.indexOf(LINE_FEED); at >= 0; at = rest.indexOf(LINE_FEED)) {
        yield Buffer.concat([...pieces, rest.subarray(0, at)]).toString();
        pieces = [];
        size = 0;
        rest = rest.subarray(at + 1);
      }
      pieces.push(rest);
      size += rest.length;
      if (size > bytesMax()) {
        throw new EngineError('resource_exhausted', `a value of more than ${bytesMax()} bytes between nodes`);
      }
    }
  } catch (error) {
    throw isEngineError(error) ? error : lost(error);
  }
}

function lineOf(value: unknown): string {
  const text = `${JSON.stringify({ v: value } satisfies Line)}\n`;
  if (text.length > limits.swarmMessageBytesMax) {
    const { swarmMessageBytesMax: max } = limits;
    throw new EngineError('resource_exhausted', `a value of more than ${max} bytes between nodes`);
  }
  return text;
}

function write(stream: Http2Stream, text: string): Promise<void> {
  if (stream.destroyed || stream.writableEnded) {
    throw lost();
  }
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(lost(error)) : resolve()));
  });
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

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { EngineError, invalidArgument, unreachable } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { BodyRule } from '../routes/route.ts';
import { conform } from '../schemas/conform.ts';
import { parseJson } from './json-body.ts';

/** Where a request's bytes come from: the parser's message, or the bare socket after an Upgrade header. */
export interface BodySource {
  req: IncomingMessage;
  upgraded: Socket | undefined;
}

/** Thrown when the rest of a body is not waited for: the client sends more than it may, or takes too long. */
export class UnreadBodyError extends EngineError {}

/** Reads and parses what `rule` asks for; undefined where there is none to parse. Types are not checked yet. */
export async function readBody(source: BodySource, rule: BodyRule): Promise<unknown> {
  switch (rule.kind) {
    case 'none':
      await discardBeforeStdin(source);
      return undefined;
    case 'bytes':
      return undefined;
    case 'must-be-empty':
      refuseBody(source.req, rule.message);
      return undefined;
    case 'json':
      return readJson(source, rule);
    default:
      return unreachable(rule);
  }
}

/**
 * After an Upgrade header everything behind the declared body is stdin. A body that the route does not take is dropped
 * before.
 */
async function discardBeforeStdin({ req, upgraded }: BodySource): Promise<void> {
  const length = contentLength(req);
  if (upgraded === undefined || length === 0) {
    return;
  }
  if (length > limits.requestBodyBytesMax) {
    throw tooLarge(limits.requestBodyBytesMax);
  }
  await withTimeout(readExactly(upgraded, length));
}

async function readJson(source: BodySource, rule: Extract<BodyRule, { kind: 'json' }>): Promise<unknown> {
  const bytes = await readJsonBytes(source);
  if (bytes.length === 0 && rule.empty === 'refused') {
    throw invalidArgument('invalid JSON: got EOF while reading request body');
  }
  const parsed = bytes.length === 0 ? {} : parseJson(bytes, limits.requestJsonDepthMax);
  const body = conform(rule.accepts ?? rule.schema, parsed ?? {});
  return rule.prepare ? rule.prepare(body) : body;
}

/** Clients send an empty JSON object where the API takes no body; dockerd lets up to seven bytes pass as one. */
function refuseBody(req: IncomingMessage, message: string): void {
  if (req.headers['transfer-encoding'] !== undefined || contentLength(req) > 7) {
    throw invalidArgument(message);
  }
}

async function readJsonBytes(source: BodySource): Promise<Buffer> {
  const { req, upgraded } = source;
  const isChunked = req.headers['transfer-encoding'] !== undefined;
  const length = contentLength(req);
  checkContentType(req.headers['content-type'], isChunked || length > 0);
  if (length > limits.requestBodyBytesMax) {
    throw tooLarge(limits.requestBodyBytesMax);
  }
  if (!isChunked && length === 0) {
    return Buffer.alloc(0);
  }
  if (upgraded) {
    if (isChunked) {
      throw invalidArgument('a request with an Upgrade header needs a Content-Length, not a chunked body');
    }
    return withTimeout(readExactly(upgraded, length));
  }
  return readBytes(req);
}

/** The texts are dockerd's (moby httputils.CheckForJSON). */
function checkContentType(header: string | undefined, hasBody: boolean): void {
  if (header === undefined || header.trim() === '') {
    if (hasBody) {
      throw invalidArgument('malformed Content-Type header (): mime: no media type');
    }
    return;
  }
  const mediaType = header.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') {
    throw invalidArgument(`unsupported Content-Type header (${header}): must be 'application/json'`);
  }
}

function contentLength(req: IncomingMessage): number {
  // The HTTP parser has refused anything but digits.
  return Number(req.headers['content-length'] ?? 0);
}

function tooLarge(max: number): UnreadBodyError {
  return new UnreadBodyError('invalid_argument', `request body is larger than ${max} bytes`);
}

/** All bytes of a body, within its bounds of size and time. */
export async function readBytes(
  req: IncomingMessage,
  max: number = limits.requestBodyBytesMax,
): Promise<Buffer> {
  if (contentLength(req) > max) {
    throw tooLarge(max);
  }
  return withTimeout(collect(req, max));
}

function collect(req: IncomingMessage, max: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > max) {
        req.removeAllListeners('data');
        reject(tooLarge(max));
        return;
      }
      chunks.push(chunk);
    });
    req.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    req.once('error', (error) => reject(hungUp(error)));
    req.once('close', () => reject(hungUp()));
  });
}

/** Exactly `length` bytes; what follows them is stdin and stays in the socket. */
function readExactly(socket: Socket, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const finish = (outcome: () => void): void => {
      socket.off('readable', onReadable);
      socket.off('end', onEnd);
      socket.off('close', onClose);
      outcome();
    };
    const onReadable = (): void => {
      const bytes: unknown = socket.read(length);
      if (!Buffer.isBuffer(bytes)) {
        return;
      }
      finish(() => (bytes.length === length ? resolve(bytes) : reject(cutShort(length))));
    };
    const onEnd = (): void => finish(() => reject(cutShort(length)));
    // A connection that is reset has no end.
    const onClose = (): void => finish(() => reject(hungUp()));
    socket.on('readable', onReadable);
    socket.once('end', onEnd);
    socket.once('close', onClose);
    onReadable();
  });
}

function cutShort(length: number): EngineError {
  return invalidArgument(`invalid JSON: request body is shorter than its Content-Length of ${length}`);
}

function hungUp(cause?: Error): EngineError {
  return new EngineError('canceled', 'client hung up while sending the body', { cause });
}

/** Rejects for a client that never finishes its body. Streams of bytes have no such limit. */
async function withTimeout(reading: Promise<Buffer>): Promise<Buffer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLate()), limits.requestBodyTimeoutMs);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(): UnreadBodyError {
  return new UnreadBodyError(
    'invalid_argument',
    `request body did not arrive within ${limits.requestBodyTimeoutMs / 1000} seconds`,
  );
}

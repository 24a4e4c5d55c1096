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

/** Thrown when a client sends more than it may; the rest is not waited for. */
export class BodyTooLargeError extends EngineError {}

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

/** After an Upgrade header everything behind the declared body is stdin: a body that nobody asked for is not. */
async function discardBeforeStdin({ req, upgraded }: BodySource): Promise<void> {
  const length = contentLength(req);
  if (upgraded === undefined || length === 0) {
    return;
  }
  if (length > limits.requestBodyBytesMax) {
    throw tooLarge();
  }
  await withTimeout(upgraded, readExactly(upgraded, length));
}

async function readJson(source: BodySource, rule: Extract<BodyRule, { kind: 'json' }>): Promise<unknown> {
  const bytes = await readJsonBytes(source);
  if (bytes.length === 0 && rule.empty === 'refused') {
    throw invalidArgument('invalid JSON: got EOF while reading request body');
  }
  const parsed = bytes.length === 0 ? {} : parseJson(bytes, limits.requestJsonDepthMax);
  const body = conform(rule.schema, parsed ?? {});
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
    throw tooLarge();
  }
  if (!isChunked && length === 0) {
    return Buffer.alloc(0);
  }
  if (upgraded) {
    if (isChunked) {
      throw invalidArgument('a request with an Upgrade header needs a Content-Length, not a chunked body');
    }
    return withTimeout(upgraded, readExactly(upgraded, length));
  }
  return withTimeout(req, collect(req));
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

function tooLarge(): BodyTooLargeError {
  return new BodyTooLargeError(
    'invalid_argument',
    `request body is larger than ${limits.requestBodyBytesMax} bytes`,
  );
}

function collect(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limits.requestBodyBytesMax) {
        req.removeAllListeners('data');
        reject(tooLarge());
        return;
      }
      chunks.push(chunk);
    });
    req.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    req.once('error', (error) =>
      reject(new EngineError('canceled', 'client hung up while sending the body', { cause: error })),
    );
  });
}

/** Exactly `length` bytes; what follows them is stdin and stays in the socket. */
function readExactly(socket: Socket, length: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const finish = (outcome: () => void): void => {
      socket.off('readable', onReadable);
      socket.off('end', onEnd);
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
    socket.on('readable', onReadable);
    socket.once('end', onEnd);
    onReadable();
  });
}

function cutShort(length: number): EngineError {
  return invalidArgument(`invalid JSON: request body is shorter than its Content-Length of ${length}`);
}

/** A client that never finishes its body is cut off. Streams of bytes have no such limit. */
async function withTimeout(stream: { destroy(): unknown }, reading: Promise<Buffer>): Promise<Buffer> {
  const timer = setTimeout(() => stream.destroy(), limits.requestBodyTimeoutMs);
  try {
    return await reading;
  } finally {
    clearTimeout(timer);
  }
}

import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { WAIT_MS } from '../patience.ts';

/** An answer read to its end. */
export interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
  /** The body as bytes: for tarballs and framed streams. */
  bytes: Buffer;
  /** The body as JSON, or undefined where it is none. */
  json: unknown;
}

export interface RequestOptions {
  /** Sent as JSON unless it is bytes, or a stream of them. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** False: a connection of its own, for streams that stay open. */
  agent?: false;
}

/** What an attached client saw: framed output taken apart, or everything in `stdout` when raw. */
export interface Output {
  stdout: string;
  stderr: string;
}

/** A failed request of `ok`: carries the daemon's message. */
export class UnexpectedStatus extends Error {
  readonly answer: Answer;
  constructor(what: string, answer: Answer) {
    super(`${what}: ${answer.status} ${answer.text.slice(0, 500)}`);
    this.name = 'UnexpectedStatus';
    this.answer = answer;
  }
}

/**
 * A plain client of the Engine API on a Unix socket, without any knowledge of the API: tests see exactly what is on
 * the wire. Paths are given without version; `version` puts one in front.
 */
export class HttpClient implements Disposable {
  readonly socketPath: string;
  readonly #prefix: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(socketPath: string, version?: string) {
    this.socketPath = socketPath;
    this.#prefix = version === undefined ? '' : `/v${version}`;
  }

  /** Sends a request and reads the whole answer, with any status. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    return toAnswer(await this.open(method, path, options));
  }

  /** As `request`, but any status outside 200-299 throws `UnexpectedStatus`; answers the JSON body as `T`. */
  async ok<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request(method, path, body === undefined ? {} : { body });
    if (answer.status < 200 || answer.status > 299) {
      throw new UnexpectedStatus(`${method} ${path}`, answer);
    }
    // What the daemon says is what is tested: a wrong shape shows where it is compared.
    return answer.json as T;
  }

  /** Sends a request and resolves when the answer's headers are there; the body is the caller's to read. */
  open(method: string, path: string, options: RequestOptions = {}): Promise<IncomingMessage> {
    const { payload, type } = encode(options.body);
    return new Promise((resolve, reject) => {
      const request = httpRequest({
        socketPath: this.socketPath,
        agent: options.agent ?? this.#agent,
        method,
        path: this.#prefix + path,
        headers: { Host: 'berth', ...type, ...options.headers },
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      request.once('error', reject);
      request.once('response', (response) => {
        // From here on errors belong to the reader of the body.
        request.on('error', () => undefined);
        resolve(response);
      });
      if (options.body instanceof Readable) {
        pipeline(options.body, request).catch(reject);
      } else {
        request.end(payload);
      }
    });
  }

  /** Posts with `Upgrade: tcp`; resolves with the raw connection once the daemon switched protocols. */
  hijack(path: string, options: RequestOptions = {}): Promise<Hijacked> {
    const { payload, type } = encode(options.body ?? {});
    return new Promise((resolve, reject) => {
      const request = httpRequest({
        socketPath: this.socketPath,
        agent: false,
        method: 'POST',
        path: this.#prefix + path,
        headers: { Host: 'berth', Connection: 'Upgrade', Upgrade: 'tcp', ...type, ...options.headers },
      });
      request.once('error', reject);
      request.once('upgrade', (response, socket, head) => {
        resolve(new Hijacked(response, socket, head));
      });
      request.once('response', (response) => {
        refused(`POST ${path} (hijack)`, response).then(reject, reject);
      });
      request.end(payload);
    });
  }

  /** Closes kept connections, which are descriptors of the daemon; new ones are made as needed. */
  hangUp(): void {
    this.#agent.destroy();
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** A hijacked connection: write to `socket`, end it for end of input, collect what comes back. */
export class Hijacked {
  readonly response: IncomingMessage;
  readonly socket: Socket;
  readonly #chunks: Buffer[] = [];
  readonly #ended: Promise<void>;

  constructor(response: IncomingMessage, socket: Socket, head: Buffer) {
    this.response = response;
    this.socket = socket;
    this.#chunks.push(head);
    socket.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    this.#ended = new Promise((resolve) => {
      socket.once('end', resolve);
      socket.once('close', resolve);
      socket.once('error', () => resolve());
    });
  }

  /** Everything received so far. */
  received(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Resolves once `text` was received (in any stream); throws after `timeoutMs`. */
  async waitFor(text: string, waitMs = WAIT_MS): Promise<void> {
    await until(`"${text}" to arrive`, () => this.received().includes(text), waitMs);
  }

  /** Framed output up to the end of the connection. */
  async output(): Promise<Output> {
    await this.#ended;
    this.socket.destroy();
    return demultiplex(this.received());
  }

  /** Raw (terminal) output up to the end of the connection. */
  async raw(): Promise<string> {
    await this.#ended;
    this.socket.destroy();
    return this.received().toString('utf8');
  }
}

/** Takes 8-byte frames apart: stream type, three zeros, length as uint32 BE. Throws on anything else. */
export function demultiplex(bytes: Buffer): Output {
  const parts: Record<number, Buffer[]> = { 1: [], 2: [] };
  let offset = 0;
  while (offset < bytes.length) {
    const type = bytes[offset] ?? 0;
    const part = parts[type];
    if (part === undefined || bytes.length - offset < 8) {
      throw new Error(`no frame at byte ${offset}: ${bytes.subarray(offset, offset + 16).toString('hex')}`);
    }
    const end = offset + 8 + bytes.readUInt32BE(offset + 4);
    if (end > bytes.length) {
      throw new Error(`frame at byte ${offset} is cut off: ${end} > ${bytes.length}`);
    }
    part.push(bytes.subarray(offset + 8, end));
    offset = end;
  }
  return {
    stdout: Buffer.concat(parts[1] ?? []).toString('utf8'),
    stderr: Buffer.concat(parts[2] ?? []).toString('utf8'),
  };
}

/** Every message of a JSON stream. */
export function jsonLines(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line): unknown => JSON.parse(line));
}

export async function readAll(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

/** Polls until `condition` holds; throws naming `what` after `timeoutMs`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  waitMs = WAIT_MS,
): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) {
      throw new Error(`waited ${waitMs} ms in vain for ${what}`);
    }
    await sleep(10);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

async function refused(what: string, response: IncomingMessage): Promise<UnexpectedStatus> {
  return new UnexpectedStatus(what, await toAnswer(response));
}

async function toAnswer(response: IncomingMessage): Promise<Answer> {
  const bytes = await readAll(response);
  const text = bytes.toString('utf8');
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    bytes,
    json: parseJson(text),
  };
}

function encode(body: unknown): { payload: Buffer | undefined; type: Record<string, string> } {
  if (body === undefined) {
    return { payload: undefined, type: {} };
  }
  if (body instanceof Readable) {
    return { payload: undefined, type: { 'Content-Type': 'application/x-tar' } };
  }
  const bytes = Buffer.isBuffer(body);
  const payload = bytes ? body : Buffer.from(JSON.stringify(body));
  return {
    payload,
    type: {
      'Content-Type': bytes ? 'application/x-tar' : 'application/json',
      'Content-Length': String(payload.length),
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the caller looks at `text`.
    return undefined;
  }
}

import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import type { Writable } from 'node:stream';
import type { Socket } from 'node:net';
import { closeLingering } from '../linger.ts';
import type { WholeText } from './json-text.ts';

/** Name and value in turn, as `writeHead` takes them fastest. */
export type FlatHeaders = readonly string[];

/**
 * The answer to one request: exactly one of its methods is called. It writes head and body by one `writeHead` and one
 * `end` where it can, which is most of what a small request costs.
 */
export class Reply {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  /** The socket, when the HTTP parser has already released it because of an Upgrade header. */
  readonly #upgraded: Socket | undefined;
  readonly #common: FlatHeaders;

  constructor(
    req: IncomingMessage,
    res: ServerResponse,
    options: { common: FlatHeaders; upgraded: Socket | undefined },
  ) {
    this.#req = req;
    this.#res = res;
    this.#common = options.common;
    this.#upgraded = options.upgraded;
  }

  /** True once a status has been sent: from then on errors cannot be statuses. */
  get isStarted(): boolean {
    return this.#res.headersSent || this.#res.socket === null;
  }

  json(status: number, line: WholeText): void {
    this.#whole(status, line, 'application/json');
  }

  text(status: number, text: string, headers: FlatHeaders = []): void {
    const bytes = String(Buffer.byteLength(text));
    this.#whole(status, { text, bytes }, 'text/plain; charset=utf-8', headers);
  }

  /** No body. 204 and 304 have no Content-Length by definition, the others an explicit 0. */
  empty(status: number, headers: FlatHeaders = []): void {
    const length = status === 204 || status === 304 ? [] : ['Content-Length', '0'];
    this.#res.writeHead(status, [...this.#common, ...headers, ...length]);
    this.#res.end();
  }

  /** Sends the head of a chunked answer; the body is written to what is returned. */
  begin(contentType: string, headers: FlatHeaders = []): ServerResponse {
    this.#res.writeHead(200, [...this.#common, ...headers, 'Content-Type', contentType]);
    return this.#res;
  }

  /** No further request is read from this connection. For answers that do not wait for the end of the body. */
  closeAfter(): void {
    this.#res.shouldKeepAlive = false;
    const { socket } = this.#req;
    // What the server calls after the last answer.
    socket.destroySoon = () => closeLingering(socket);
  }

  /** False when the client is gone already. */
  get canHijack(): boolean {
    return !(this.#upgraded ?? this.#req.socket).destroyed;
  }

  /**
   * Takes the connection out of HTTP (moby: httputils.HijackConnection): 101 for clients that sent Upgrade, else a 200
   * without length. What is returned is stdin to read and output to write; each side ends by itself.
   */
  hijack(contentType: { upgraded: string; plain: string }): Duplex {
    if ('upgrade' in this.#req.headers) {
      const socket = this.#upgraded ?? takeSocket(this.#req);
      this.#res.detachSocket(socket);
      this.#writeRawHead(socket, '101 UPGRADED', contentType.upgraded, [
        'Connection',
        'Upgrade',
        'Upgrade',
        'tcp',
      ]);
      return socket;
    }
    if (!this.#req.complete) {
      // The client streams stdin as a chunked request body: the parser stays and takes the chunks apart.
      const res = this.begin(contentType.plain);
      res.flushHeaders();
      return Duplex.from({ readable: this.#req, writable: res satisfies Writable });
    }
    const socket = takeSocket(this.#req);
    this.#res.detachSocket(socket);
    this.#writeRawHead(socket, '200 OK', contentType.plain, []);
    return socket;
  }

  /** Gives the connection to HTTP/2 with prior knowledge. Throws invalid_argument when that was not asked for. */
  upgradeToHttp2(): Socket {
    const socket = this.#upgraded;
    if (socket === undefined || this.#req.headers.upgrade?.toLowerCase() !== 'h2c') {
      throw invalidArgument('this needs a request with "Upgrade: h2c"');
    }
    this.#res.detachSocket(socket);
    this.#writeRawHead(socket, '101 UPGRADED', undefined, ['Connection', 'Upgrade', 'Upgrade', 'h2c']);
    return socket;
  }

  /**
   * Answers the websocket handshake. Undefined when the client is gone or its handshake is broken, which it has been
   * told. Throws invalid_argument when it asked for none.
   */
  async websocket(): Promise<WebSocket | undefined> {
    const socket = this.#upgraded;
    if (socket === undefined || this.#req.headers.upgrade?.toLowerCase() !== 'websocket') {
      throw invalidArgument('attach by websocket needs a request with "Upgrade: websocket"');
    }
    this.#res.detachSocket(socket);
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: limits.websocketMessageBytesMax,
    });
    server.on('headers', (headers) => {
      for (let index = 0; index < this.#common.length; index += 2) {
        headers.push(`${this.#common[index]}: ${this.#common[index + 1]}`);
      }
    });
    return new Promise((resolve) => {
      socket.once('close', () => resolve(undefined));
      server.handleUpgrade(this.#req, socket, Buffer.alloc(0), resolve);
    });
  }

  #whole(status: number, { text, bytes }: WholeText, contentType: string, headers: FlatHeaders = []): void {
    const isHead = this.#req.method === 'HEAD';
    this.#res.writeHead(status, [
      ...this.#common,
      ...headers,
      'Content-Type',
      contentType,
      'Content-Length',
      isHead ? '0' : bytes,
    ]);
    this.#res.end(isHead ? undefined : text);
  }

  #writeRawHead(socket: Socket, status: string, contentType: string | undefined, headers: FlatHeaders): void {
    let head = `HTTP/1.1 ${status}\r\n`;
    const type = contentType === undefined ? [] : ['Content-Type', contentType];
    const all = [...type, ...headers, ...this.#common];
    for (let index = 0; index < all.length; index += 2) {
      head += `${all[index]}: ${all[index + 1]}\r\n`;
    }
    socket.write(`${head}\r\n`);
  }
}

/**
 * Frees a connection from Node's HTTP server between two requests. Bytes that come from now on stay in the socket until
 * its new owner reads them. The server's 'close' listener stays: it returns the parser to its pool.
 */
export function takeSocket({ socket }: { socket: Socket }): Socket {
  // Adding a 'data' listener makes the server hand the file descriptor back from the parser to the socket.
  socket.on('data', () => undefined);
  for (const event of ['data', 'end', 'drain', 'error', 'timeout']) {
    socket.removeAllListeners(event);
  }
  // As Node does for an upgrade: neither flowing nor paused, so that the first reader decides.
  Object.assign(socket, { readableFlowing: null });
  socket.setTimeout(0);
  socket.on('error', () => socket.destroy());
  return socket;
}

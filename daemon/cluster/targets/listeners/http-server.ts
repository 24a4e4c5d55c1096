import { createServer as createHttp, type IncomingMessage, type Server as HttpServer } from 'node:http';
import { createServer as createHttp2, type ServerHttp2Session } from 'node:http2';
import { createServer as createHttps, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { ClientRequest, ClientResponse } from '../forwarding/client-side.ts';
import { targetLimits } from '../limits.ts';
import { beginsHttp2, isOfferOfHttp2, withoutOffer } from './http2-beginning.ts';

/** PEM texts. */
export interface ListenerCertificate {
  certificate: string;
  key: string;
}

/** What is done with requests, whatever their clients speak. */
export interface Handlers {
  serve(req: ClientRequest, res: ClientResponse): void;
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface ListenerServer {
  server: HttpServer | HttpsServer;
  /** Lets clients go that wait for nothing. */
  endIdle: () => void;
}

/** The oldest version that is spoken. */
export const TLS_MIN = 'TLSv1.2' as const;

const OPTIONS = { requestTimeout: 0, keepAliveTimeout: targetLimits.idleMs };

/** A server without TLS. Clients that begin with HTTP/2 (RFC 9113, 3.3) are answered by it, others by HTTP/1.1. */
export function createPlainServer(handlers: Handlers): ListenerServer {
  const server = createHttp(OPTIONS, (req, res) => handlers.serve(req, res));
  const http2 = new Http2Side(handlers);
  const http1 = takenOver(server, 'connection');
  server.on('connection', (socket: Socket) => {
    beginsHttp2(socket, (isHttp2) => (isHttp2 ? http2.take(socket) : http1(socket)));
  });
  server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) => {
    if (isOfferOfHttp2(req)) {
      // Whoever does not take the offer answers as if it were not made (RFC 9110, 7.8).
      socket.unshift(Buffer.concat([withoutOffer(req), head]));
      http1(socket);
    } else {
      handlers.upgrade(req, socket, head);
    }
  });
  return { server, endIdle: () => endIdle(server, http2) };
}

/** A server that ends TLS: clients agree with it on HTTP/2 or HTTP/1.1. */
export function createTlsServer({ certificate: cert, key }: ListenerCertificate, handlers: Handlers) {
  const tls = { cert, key, ALPNProtocols: ['h2', 'http/1.1'], minVersion: TLS_MIN };
  const server = createHttps({ ...OPTIONS, ...tls }, (req, res) => handlers.serve(req, res));
  const http2 = new Http2Side(handlers);
  const http1 = takenOver(server, 'secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    socket.on('error', () => socket.destroy());
    if (socket.alpnProtocol === 'h2') {
      http2.take(socket);
    } else {
      http1(socket);
    }
  });
  server.on('upgrade', (req, socket, head) => handlers.upgrade(req, socket, head));
  return { server, endIdle: () => endIdle(server, http2) };
}

/**
 * What a server of HTTP/1.1 does with a connection, for those that are found to be its own. The server goes on to
 * listen: only so does it give up clients that never end their headers.
 */
function takenOver(server: HttpServer, event: 'connection' | 'secureConnection'): (socket: Socket) => void {
  const own = server.listeners(event);
  server.removeAllListeners(event);
  return (socket) => own.forEach((listener) => Reflect.apply(listener, server, [socket]));
}

function endIdle(server: HttpServer, http2: Http2Side): void {
  http2.endIdle();
  server.closeIdleConnections();
}

/** The connections of clients that speak HTTP/2. */
class Http2Side {
  readonly #server;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(handlers: Handlers) {
    this.#server = createHttp2({}, (req, res) => handlers.serve(req, res));
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.setTimeout(targetLimits.idleMs, () => session.close());
      session.once('close', () => this.#sessions.delete(session));
    });
    // What breaks a connection ends its requests, which say so.
    this.#server.on('sessionError', (_error, session) => session.destroy());
  }

  take(socket: Socket): void {
    this.#server.emit('connection', socket);
  }

  endIdle(): void {
    this.#sessions.forEach((session) => session.close());
  }
}

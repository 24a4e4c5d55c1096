import type { Server as HttpServer } from 'node:http';
import { createServer as createHttp2, type ServerHttp2Session } from 'node:http2';
import { createServer as createTls, type Server as TlsServer } from 'node:tls';
import { targetLimits } from '../limits.ts';
import type { ClientRequest, ClientResponse } from '../forwarding/client-side.ts';

/** PEM texts. */
export interface ListenerCertificate {
  certificate: string;
  key: string;
}

/**
 * A server that ends TLS: clients that speak HTTP/2 are answered by `serve`, all others by `http1`, which does not
 * listen itself. `endIdle` lets clients go that wait for nothing.
 */
export function createTlsServer(
  { certificate: cert, key }: ListenerCertificate,
  http1: HttpServer,
  serve: (req: ClientRequest, res: ClientResponse) => void,
): { server: TlsServer; endIdle: () => void } {
  const http2 = createHttp2({}, serve);
  const sessions = new Set<ServerHttp2Session>();
  http2.on('session', (session) => {
    sessions.add(session);
    session.setTimeout(targetLimits.idleMs, () => session.close());
    session.once('close', () => sessions.delete(session));
  });
  // What breaks a connection ends its requests, which say so.
  http2.on('sessionError', (_error, session) => session.destroy());
  const server = createTls({ cert, key, ALPNProtocols: ['h2', 'http/1.1'], minVersion: 'TLSv1.2' });
  server.on('secureConnection', (socket) => {
    socket.on('error', () => socket.destroy());
    (socket.alpnProtocol === 'h2' ? http2 : http1).emit('connection', socket);
  });
  const endIdle = (): void => {
    sessions.forEach((session) => session.close());
    http1.closeIdleConnections();
  };
  return { server, endIdle };
}

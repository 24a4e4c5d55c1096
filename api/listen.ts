import { X509Certificate } from 'node:crypto';
import { chmod, chown, lstat, unlink } from 'node:fs/promises';
import http from 'node:http';
import type { Server } from 'node:http';
import https from 'node:https';
import { connect, isIP } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { EngineError, errnoOf, errorText, invalidArgument } from '../daemon/base/errors.ts';
import { limits } from '../daemon/base/limits.ts';
import type { Logger } from '../daemon/base/logger.ts';
import { refuseBrokenRequest } from './broken-request.ts';
import { refuseForeign } from './pipeline/guard.ts';
import { takeSocket } from './pipeline/reply.ts';
import type { Api } from './server.ts';

/** PEM texts. Clients must show a certificate of `ca`, and of no other authority the system may know. */
export interface TlsFiles {
  certificate: string;
  key: string;
  ca: string;
}

/**
 * Where to listen. A client that can open the unix socket is root in effect; TCP is either mutually authenticated or
 * loopback. `inherited`: an open listening socket, as systemd passes it (fd 3).
 */
export type Address =
  | { kind: 'unix'; path: string; gid: number }
  | { kind: 'inherited'; fd: number }
  | { kind: 'tcp'; host: string; port: number; tls?: TlsFiles };

export interface Listener {
  /** As the kernel knows it: path, or `host:port` with the port chosen for port 0. */
  readonly address: string;
  /** Stops accepting, ends streams, and after `limits.shutdownGraceMs` cuts whatever is still open. */
  close(): Promise<void>;
}

/** Opens one address and serves `api` on it. Throws EngineError when it cannot be opened. */
export async function listen(api: Api, address: Address, log: Logger): Promise<Listener> {
  const server = createServer(api, address);
  const sockets = trackSockets(server);
  switch (address.kind) {
    case 'unix':
      await listenUnix(server, address);
      break;
    case 'inherited':
      await opened(server, `file descriptor ${address.fd}`, (done) =>
        server.listen({ fd: address.fd }, done),
      );
      break;
    case 'tcp':
      await opened(server, `tcp://${address.host}:${address.port}`, (done) =>
        server.listen(address.port, address.host, done),
      );
      break;
  }
  const name = nameOf(server, address);
  log.info({ address: name }, 'listening');
  return {
    address: name,
    close: () => {
      api.endStreams();
      return closeServer(server, sockets);
    },
  };
}

function createServer(api: Api, address: Address): Server {
  const options = {
    maxHeaderSize: limits.requestHeaderBytesMax,
    headersTimeout: limits.requestHeadersTimeoutMs,
    // A body may be an image of many GB and an answer may take days; JSON bodies have a time limit of their own.
    requestTimeout: 0,
    keepAliveTimeout: limits.connectionIdleMs,
  };
  if (address.kind !== 'tcp') {
    return http
      .createServer(options, api.onRequest)
      .on('upgrade', socketUpgrade(api))
      .on('clientError', onClientError(api));
  }
  const { tls, host } = address;
  if (tls === undefined && !isLoopback(host)) {
    throw invalidArgument(
      `refusing to listen on tcp://${host}:${address.port} without TLS: whoever reaches it is root on this host`,
    );
  }
  const guarded = guard(api, ownNames(host, tls));
  const server =
    tls === undefined
      ? http.createServer(options, guarded.onRequest)
      : https.createServer(
          {
            ...options,
            // A client that has sent its stdin still reads output (http.createServer has it always).
            allowHalfOpen: true,
            cert: tls.certificate,
            key: tls.key,
            ca: tls.ca,
            requestCert: true,
            rejectUnauthorized: true,
            minVersion: 'TLSv1.2',
          },
          guarded.onRequest,
        );
  return server.on('upgrade', socketUpgrade(guarded)).on('clientError', onClientError(api));
}

type Handlers = Pick<Api, 'onRequest' | 'onUpgrade'>;

/** The parser's word for the first line of HTTP/2's preface (llhttp, HPE_PAUSED_H2_UPGRADE). */
const HTTP2_PREFACE = 'HPE_PAUSED_H2_UPGRADE';

/** Bytes that are no request of HTTP/1.1: those of HTTP/2 begin a connection of it, others are refused. */
function onClientError({ onHttp2 }: Pick<Api, 'onHttp2'>): (error: Error, socket: Duplex) => void {
  return (error, socket) => {
    const isPreface =
      errnoOf(error) === HTTP2_PREFACE && 'rawPacket' in error && error.rawPacket instanceof Buffer;
    if (!isPreface) {
      refuseBrokenRequest(error, socket);
      return;
    }
    // The servers made here pass only net.Socket and its subclass TLSSocket.
    const taken = takeSocket({ socket: socket as Socket });
    taken.unshift(error.rawPacket);
    onHttp2(taken);
  };
}

/** Node types the socket of an upgrade as Duplex; from a net or tls server it is a Socket. */
function socketUpgrade(
  handlers: Handlers,
): (req: http.IncomingMessage, socket: unknown, head: Buffer) => void {
  // See above: the servers made here pass only net.Socket and its subclass TLSSocket.
  return (req, socket, head) => handlers.onUpgrade(req, socket as Socket, head);
}

/**
 * The names by which clients may call a daemon, besides addresses: that of its socket and, with TLS, its certificate's.
 */
function ownNames(host: string, tls: TlsFiles | undefined): (name: string) => boolean {
  const certificate = tls && new X509Certificate(tls.certificate);
  return (name) => name === host.toLowerCase() || certificate?.checkHost(name) !== undefined;
}

/** Refuses what a web page sent, before anything of the API sees it. */
function guard(api: Api, isOwnName: (name: string) => boolean): Handlers {
  const names = { isOwnName, allowedOrigin: api.allowedOrigin };
  return {
    onRequest: (req, res) => {
      const reason = refuseForeign(req.headers, names);
      if (reason === undefined) {
        api.onRequest(req, res);
        return;
      }
      res.writeHead(403, { 'Content-Type': 'application/json', Connection: 'close' });
      res.end(`${JSON.stringify({ message: reason })}\n`);
    },
    onUpgrade: (req, socket, head) => {
      const reason = refuseForeign(req.headers, names);
      if (reason === undefined) {
        api.onUpgrade(req, socket, head);
        return;
      }
      const body = `${JSON.stringify({ message: reason })}\n`;
      socket.end(
        'HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\n' +
          `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
    },
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

async function listenUnix(server: Server, address: { path: string; gid: number }): Promise<void> {
  await removeStaleSocket(address.path);
  // Bound with owner and group only from its first moment; the group is root until chown.
  const umask = process.umask(0o117);
  let opening: Promise<void>;
  try {
    // The bind happens inside this call, synchronously, so the mask covers it and nothing else.
    opening = opened(server, address.path, (done) => server.listen(address.path, done));
  } finally {
    process.umask(umask);
  }
  await opening;
  await chown(address.path, 0, address.gid);
  await chmod(address.path, 0o660);
}

/** A socket file without a listener is left over from a daemon that was killed. */
async function removeStaleSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) {
      throw new EngineError('conflict', `cannot listen on ${path}: it exists and is no socket`);
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') {
      return;
    }
    throw error;
  }
  const isAnswered = await new Promise<boolean>((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
  if (isAnswered) {
    throw new EngineError('conflict', `cannot listen on ${path}: another daemon answers on it`);
  }
  await unlink(path);
}

/** Starts to listen. Throws unavailable that says where. */
export function opened(server: Server, where: string, start: (done: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void =>
      reject(
        new EngineError('unavailable', `cannot listen on ${where}: ${errorText(error)}`, { cause: error }),
      );
    server.once('error', onError);
    start(() => {
      server.off('error', onError);
      resolve();
    });
  });
}

function nameOf(server: Server, address: Address): string {
  const bound = server.address();
  if (typeof bound === 'object' && bound !== null) {
    return `${bound.address}:${bound.port}`;
  }
  return bound ?? (address.kind === 'unix' ? address.path : 'inherited socket');
}

/** Every open connection, hijacked ones too, which `server.closeAllConnections` knows nothing of. */
export function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

/** Stops accepting, and after `limits.shutdownGraceMs` cuts whatever is still open. */
export async function closeServer(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  const timer = setTimeout(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
  }, limits.shutdownGraceMs);
  await closed;
  clearTimeout(timer);
}

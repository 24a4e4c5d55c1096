import http from 'node:http';
import type { RequestListener, Server } from 'node:http';
import https from 'node:https';
import { limits } from '../daemon/base/limits.ts';
import type { Logger } from '../daemon/base/logger.ts';
import { refuseBrokenRequest } from './broken-request.ts';
import { closeServer, opened, trackSockets, type Listener } from './listen.ts';

/** Where an interface beside the engine's API listens. */
export interface OwnAddress {
  /** Undefined = all addresses of this host. */
  host: string | undefined;
  port: number;
  /** PEM texts; undefined = plain HTTP. */
  tls:
    | {
        certificate: string;
        key: string;
        /** Of clients, who may show a certificate and need not. Whoever answers asks whether they did. */
        clientCa?: string | undefined;
      }
    | undefined;
}

interface Served {
  address: OwnAddress;
  /** The setting, for errors: `hub.address`. */
  setting: string;
  /** For the log: `the hub`. */
  title: string;
  connectionsMax: number;
  handle: RequestListener;
  /** Ends answers that have no end of their own, before connections are waited for. */
  onClose?: () => void;
}

/** Serves an interface at an address of its own. Throws unavailable when it cannot listen. */
export async function listenOwn(served: Served, log: Logger): Promise<Listener> {
  const { address, setting, title, connectionsMax, handle, onClose } = served;
  const { host, port } = address;
  const server = createServer(address, guarded(handle, title, log));
  server.on('clientError', refuseBrokenRequest);
  server.maxConnections = connectionsMax;
  const sockets = trackSockets(server);
  await opened(server, `${setting} ${host ?? ''}:${port}`, (done) => server.listen(port, host, done));
  const bound = server.address();
  const name = typeof bound === 'object' && bound !== null ? `${bound.address}:${bound.port}` : `:${port}`;
  log.info({ address: name }, `serving ${title}`);
  return {
    address: name,
    close: () => {
      onClose?.();
      return closeServer(server, sockets);
    },
  };
}

/** What a request makes `handle` throw must not end the daemon, whoever sends it. */
function guarded(handle: RequestListener, title: string, log: Logger): RequestListener {
  return (req, res) => {
    try {
      handle(req, res);
    } catch (error) {
      log.error({ err: error, method: req.method, url: req.url }, `a request of ${title} was not answered`);
      res.writeHead(500, { Connection: 'close' });
      res.end();
    }
  };
}

function createServer({ tls }: OwnAddress, serve: RequestListener): Server {
  const options = {
    maxHeaderSize: limits.requestHeaderBytesMax,
    headersTimeout: limits.requestHeadersTimeoutMs,
    requestTimeout: 0,
    keepAliveTimeout: limits.connectionIdleMs,
  };
  if (tls === undefined) {
    return http.createServer(options, serve);
  }
  const { certificate, key, clientCa } = tls;
  const clients =
    clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: false };
  return https.createServer({ ...options, ...clients, cert: certificate, key, minVersion: 'TLSv1.2' }, serve);
}

import http from 'node:http';
import type { RequestListener, Server } from 'node:http';
import https from 'node:https';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { refuseBrokenRequest } from '../broken-request.ts';
import { closeServer, opened, trackSockets, type Listener } from '../listen.ts';
import type { HubApi } from './hub-api.ts';

export interface HubAddress {
  /** Undefined = all addresses of this host. */
  host: string | undefined;
  port: number;
  /** PEM texts; undefined = plain HTTP. */
  tls: { certificate: string; key: string } | undefined;
}

/** Serves the hub at an address of its own. Throws unavailable when it cannot listen. */
export async function listenHub(api: HubApi, address: HubAddress, log: Logger): Promise<Listener> {
  const { host, port } = address;
  const server = createServer(address, (req, res) => api.handle(req, res, 'listener', req.url ?? '/'));
  server.on('clientError', refuseBrokenRequest);
  server.maxConnections = limits.hubConnectionsMax;
  const sockets = trackSockets(server);
  await opened(server, `hub.address ${host ?? ''}:${port}`, (done) => server.listen(port, host, done));
  const bound = server.address();
  const name = typeof bound === 'object' && bound !== null ? `${bound.address}:${bound.port}` : `:${port}`;
  log.info({ address: name }, 'serving the hub');
  return { address: name, close: () => closeServer(server, sockets) };
}

function createServer({ tls }: HubAddress, serve: RequestListener): Server {
  const options = {
    maxHeaderSize: limits.requestHeaderBytesMax,
    headersTimeout: limits.requestHeadersTimeoutMs,
    requestTimeout: 0,
    keepAliveTimeout: limits.connectionIdleMs,
  };
  return tls === undefined
    ? http.createServer(options, serve)
    : https.createServer({ ...options, cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2' }, serve);
}

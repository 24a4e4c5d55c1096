import http from 'node:http';
import { errorText } from '../daemon/base/errors.ts';
import { limits } from '../daemon/base/limits.ts';
import type { Logger } from '../daemon/base/logger.ts';
import { closeServer, opened, trackSockets } from './listen.ts';
import type { Listener } from './listen.ts';
import { refuseForeign } from './pipeline/guard.ts';
import type { MetricsPort } from './types/ports.ts';

/**
 * Serves `GET /metrics` at an address of its own, and nothing else, as dockerd does: a client that reaches it can read
 * counts and change nothing. Web pages are refused as on the API's own TCP address. Throws unavailable when it cannot
 * listen.
 */
export async function listenMetrics(
  metrics: MetricsPort,
  { host, port }: { host: string | undefined; port: number },
  log: Logger,
): Promise<Listener> {
  const server = http.createServer(
    {
      maxHeaderSize: limits.requestHeaderBytesMax,
      headersTimeout: limits.metricsRequestTimeoutMs,
      requestTimeout: limits.metricsRequestTimeoutMs,
      keepAliveTimeout: limits.connectionIdleMs,
    },
    (req, res) => {
      void answer(metrics, req, res, { host, log }).catch((error: unknown) => {
        log.error({ err: error }, 'a request for metrics was not answered');
      });
    },
  );
  server.maxConnections = limits.metricsConnectionsMax;
  const sockets = trackSockets(server);
  await opened(server, `metrics-addr ${host ?? ''}:${port}`, (done) => server.listen(port, host, done));
  const bound = server.address();
  const address = typeof bound === 'object' && bound !== null ? `${bound.address}:${bound.port}` : `:${port}`;
  log.info({ address }, 'serving metrics');
  return { address, close: () => closeServer(server, sockets) };
}

/** Never rejects. */
async function answer(
  metrics: MetricsPort,
  req: http.IncomingMessage,
  res: http.ServerResponse,
  { host, log }: { host: string | undefined; log: Logger },
): Promise<void> {
  const names = { isOwnName: (name: string) => name === host?.toLowerCase(), allowedOrigin: '' };
  const refused = refuseForeign(req.headers, names);
  const say = (status: number, text: string): void => {
    res.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' });
    res.end(`${text}\n`);
  };
  if (refused !== undefined) {
    say(403, refused);
    return;
  }
  if (req.url?.split('?', 1)[0] !== '/metrics') {
    say(404, '404 page not found');
    return;
  }
  try {
    const text = await metrics.text();
    res.writeHead(200, { 'Content-Type': metrics.contentType });
    res.end(req.method === 'HEAD' ? undefined : text);
  } catch (error) {
    log.error({ err: error }, 'metrics could not be read');
    say(500, errorText(error));
  }
}

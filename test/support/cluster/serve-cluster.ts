import http from 'node:http';
import { createClusterApi } from '../../../api/cluster/cluster-api.ts';
import { endWatches } from '../../../api/cluster/events/answers/watch.ts';
import { listenCluster } from '../../../api/cluster/listen.ts';
import type { OwnAddress } from '../../../api/own-listener.ts';
import type { ClusterPorts } from '../../../api/types/cluster/ports.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import type { ClusterEvents } from '../../../daemon/cluster/events/events.ts';
import type { RetentionRules } from '../../../daemon/cluster/events/retention.ts';
import { openEvents } from './memory-events.ts';

export interface ClusterAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Parsed; undefined where there was none. */
  body: unknown;
}

export interface ClusterAsk {
  headers?: Record<string, string>;
  /** What is no string goes as JSON. */
  body?: unknown;
  /** `writer` when it is not said. */
  token?: string;
}

export interface ServedCluster extends AsyncDisposable {
  events: ClusterEvents;
  /** Of its listener, on 127.0.0.1. */
  url: string;
  port: number;
  ask(method: string, path: string, options?: ClusterAsk): Promise<ClusterAnswer>;
}

/** Events over a database (in memory when none is named), behind their listener. Tokens: `writer`, `reader`. */
export async function serveCluster({
  file = ':memory:',
  retention,
  tls,
}: { file?: string; retention?: RetentionRules; tls?: OwnAddress['tls'] } = {}): Promise<ServedCluster> {
  const open = await openEvents({ file, ...(retention && { retention }) });
  const { events } = open;
  const ports: ClusterPorts = {
    identity: { identify, user: (name) => ({ name, mayWrite: false }), unsigned: () => undefined },
    events: () => events,
    targets: () => {
      throw new EngineError('unavailable', 'there are no target groups here');
    },
  };
  const api = createClusterApi({ ports, log: silentLogger, version: '0.1.0' });
  const address = { host: '127.0.0.1', port: 0, tls };
  const listener = await listenCluster(api, address, { log: silentLogger, onClose: endWatches });
  const port = Number(listener.address.split(':').at(-1));
  return {
    events,
    port,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    ask: (method, path, options) => ask(port, { method, path, ...options }),
    [Symbol.asyncDispose]: async () => {
      await listener.close();
      await open[Symbol.asyncDispose]();
    },
  };
}

function identify({ authorization }: { authorization: string | undefined }) {
  const name = /^Bearer (writer|reader)$/.exec(authorization ?? '')?.[1];
  if (name === undefined) {
    throw new EngineError('unauthorized', 'Unauthorized');
  }
  return { name, mayWrite: name === 'writer' };
}

function ask(
  port: number,
  { method, path, headers = {}, body, token = 'writer' }: ClusterAsk & { method: string; path: string },
): Promise<ClusterAnswer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: {
          ...(text !== undefined && {
            'Content-Type': 'application/json',
            'Content-Length': String(Buffer.byteLength(text)),
          }),
          ...(token !== '' && { Authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.once('end', () => {
          const answer = Buffer.concat(pieces).toString();
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: answer === '' ? undefined : JSON.parse(answer),
          });
        });
        response.once('error', reject);
      },
    );
    request.once('error', reject);
    request.end(text);
  });
}

import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHubApi } from '../../../api/hub/hub-api.ts';
import { listenHub } from '../../../api/hub/listen.ts';
import { listen } from '../../../api/listen.ts';
import { createApi } from '../../../api/server.ts';
import type { HubPagesPort } from '../../../api/types/hub/pages.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { fakePorts } from '../api/fake-ports.ts';
import { BASE_URL, type OpenHub } from './open-hub.ts';

export interface HubAnswer {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Parsed; undefined where there was none. */
  body: unknown;
}

export interface ServedHub extends AsyncDisposable {
  /** Of the engine's API, with the hub below `/hub`. */
  socketPath: string;
  /** Of its own listener, on 127.0.0.1. */
  port: number;
  /** Of the hub's own listener. */
  url: string;
  /** At the hub's own listener, where it is not said otherwise. */
  ask: (method: string, path: string, options?: HubAsk) => Promise<HubAnswer>;
}

export interface HubAsk {
  headers?: Record<string, string>;
  /** What is neither a text nor bytes goes as JSON. */
  body?: unknown;
  token?: string;
  /** At the engine's socket. */
  isRoot?: boolean;
}

/** The hub behind its own listener and behind an engine's socket. */
export async function serveHub(
  { hub, baseUrl = BASE_URL }: Pick<OpenHub, 'hub'> & { baseUrl?: string },
  pages: HubPagesPort = hub.pages,
): Promise<ServedHub> {
  const directory = mkdtempSync(join(tmpdir(), 'bth-hub-'));
  const socketPath = join(directory, 'api.sock');
  const hubApi = createHubApi({
    hub,
    pages,
    log: silentLogger,
    baseUrl,
    version: '0.1.0',
  });
  const engine = createApi({
    ports: fakePorts(),
    log: silentLogger,
    facts: { version: '0.1.0', experimental: false, os: 'linux', cgroupVersion: 1 },
    mounts: new Map([['/hub', (req, res, url) => hubApi.handle(req, res, 'engine', url)]]),
  });
  const listeners = [
    await listenHub(hubApi, { host: '127.0.0.1', port: ownPort(baseUrl), tls: undefined }, silentLogger),
    await listen(engine, { kind: 'unix', path: socketPath, gid: 0 }, silentLogger),
  ];
  const port = Number(listeners[0]?.address.split(':').at(-1));
  return {
    socketPath,
    port,
    url: `http://127.0.0.1:${port}`,
    ask: (method, path, { headers = {}, body, token, isRoot } = {}) =>
      new Promise((resolve, reject) => {
        const isPlain = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
        const text = isPlain ? (body ?? '') : JSON.stringify(body);
        const sent = {
          'User-Agent': 'test',
          'Content-Length': String(Buffer.byteLength(text)),
          ...(token && { Authorization: `token ${token}` }),
          ...headers,
        };
        const place =
          isRoot === true ? { socketPath, path: `/hub${path}` } : { port, host: '127.0.0.1', path };
        const req = http.request({ ...place, method, headers: sent }, (res) => {
          let got = '';
          res.setEncoding('utf8').on('data', (piece: string) => (got += piece));
          res.once('end', () =>
            resolve({
              status: res.statusCode ?? 0,
              headers: res.headers,
              body: bodyOf(res.headers['content-type'], got),
            }),
          );
        });
        req.once('error', reject);
        req.end(text);
      }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(listeners.map((listener) => listener.close()));
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Of an address of this machine; else any. */
function ownPort(baseUrl: string): number {
  const { hostname, port } = new URL(baseUrl);
  return hostname === '127.0.0.1' ? Number(port) : 0;
}

function bodyOf(type: string | undefined, text: string): unknown {
  return type?.startsWith('application/json') === true ? JSON.parse(text) : text || undefined;
}

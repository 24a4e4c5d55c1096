/** A real API server on a unix socket or loopback TCP over fake ports, and raw clients for it. */
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../../api/listen.ts';
import type { Address } from '../../../api/listen.ts';
import type { EnginePorts } from '../../../api/types/ports.ts';
import { createApi } from '../../../api/server.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import type { Logger } from '../../../daemon/base/logger.ts';
import { fakePorts } from './fake-ports.ts';

/** A promise and what settles it, for steps that a test holds back or waits for. */
export class Deferred<T = void> {
  resolve!: (value: T) => void;
  readonly promise = new Promise<T>((resolve) => {
    this.resolve = resolve;
  });
}

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

export interface TestServer extends AsyncDisposable {
  socketPath: string;
  /** The port when listening on TCP. */
  port: number;
  request(
    method: string,
    path: string,
    options?: { headers?: Record<string, string>; body?: string | Buffer },
  ): Promise<Answer>;
  /** Parsed JSON of a GET. */
  json(path: string): Promise<unknown>;
  /** Sends bytes as they are and resolves with all that comes back until the server closes. */
  raw(text: string, options?: { thenEnd?: boolean }): Promise<string>;
  connect(): net.Socket;
}

export async function startServer(
  ports: EnginePorts = fakePorts(),
  tcp?: Extract<Address, { kind: 'tcp' }>,
  log: Logger = silentLogger,
): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'bth-api-'));
  const socketPath = join(directory, 'api.sock');
  const facts = { version: '0.1.0', experimental: false, os: 'linux', cgroupVersion: 1 as const };
  const api = createApi({ ports, log, facts });
  const listener = await listen(api, tcp ?? { kind: 'unix', path: socketPath, gid: 0 }, silentLogger);
  const port = Number(listener.address.split(':').at(-1)) || 0;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const connectServer = (): net.Socket => (tcp ? net.connect(port, '127.0.0.1') : net.connect(socketPath));

  const request: TestServer['request'] = (method, path, { headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const target = tcp ? { host: '127.0.0.1', port } : { socketPath };
      const req = http.request({ ...target, method, path, headers, agent }, (res) => {
        let text = '';
        res.setEncoding('utf8');
        res.on('data', (chunk: string) => (text += chunk));
        res.on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: text }));
        res.on('error', reject);
      });
      req.on('error', reject);
      req.end(body);
    });

  return {
    socketPath,
    port,
    request,
    json: async (path) => JSON.parse((await request('GET', path)).body) as unknown,
    raw: (text, { thenEnd = false } = {}) =>
      new Promise((resolve, reject) => {
        const socket = connectServer();
        let received = '';
        socket.setEncoding('latin1');
        socket.on('data', (chunk: string) => (received += chunk));
        socket.on('error', reject);
        socket.on('close', () => resolve(received));
        socket.write(text, 'latin1');
        if (thenEnd) {
          socket.end();
        }
      }),
    connect: connectServer,
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      await listener.close();
      await rm(directory, { recursive: true });
    },
  };
}

import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { listen } from '../../api/listen.ts';
import { createApi } from '../../api/server.ts';
import { silentLogger } from '../../daemon/base/log.ts';
import { startServer } from '../support/api-server.ts';
import { conversation, fakePorts } from '../support/fake-ports.ts';

const directory = await mkdtemp(join(tmpdir(), 'bth-api-listen-'));
afterAll(() => rm(directory, { recursive: true }));

const api = createApi({
  ports: fakePorts(),
  log: silentLogger,
  facts: { version: '0.1.0', experimental: false, os: 'linux', cgroupVersion: 1 },
});
const loopback = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;

test.skipIf(process.getuid?.() !== 0)('unix socket: is 0660 and of the group', async () => {
  const path = join(directory, 'mode.sock');
  const listener = await listen(api, { kind: 'unix', path, gid: 12_345 }, silentLogger);
  const { mode, uid, gid } = await stat(path);
  await listener.close();
  expect([mode & 0o777, uid, gid]).toEqual([0o660, 0, 12_345]);
  await expect(stat(path)).rejects.toThrow(/ENOENT/);
});

test('unix socket: one that is answered, or a file, is left alone; a stale one is replaced', async () => {
  const gid = process.getgid?.() ?? 0;
  const path = join(directory, 'stale.sock');
  const first = await listen(api, { kind: 'unix', path, gid }, silentLogger);
  await expect(listen(api, { kind: 'unix', path, gid }, silentLogger)).rejects.toThrow(
    /another daemon answers on it/,
  );
  await first.close();
  const file = join(directory, 'file');
  await writeFile(file, 'x');
  await expect(listen(api, { kind: 'unix', path: file, gid }, silentLogger)).rejects.toThrow(/is no socket/);

  const leftOver = net.createServer().listen(path);
  await once(leftOver, 'listening');
  // As after a kill -9: the file stays, nobody accepts.
  const { renameSync } = await import('node:fs');
  const kept = join(directory, 'kept.sock');
  renameSync(path, kept);
  leftOver.close();
  await once(leftOver, 'close');
  renameSync(kept, path);
  const again = await listen(api, { kind: 'unix', path, gid }, silentLogger);
  await again.close();
});

test('TCP: only on loopback without TLS', async () => {
  await expect(listen(api, { kind: 'tcp', host: '0.0.0.0', port: 0 }, silentLogger)).rejects.toThrow(
    /refusing to listen on tcp:\/\/0.0.0.0:0 without TLS/,
  );
});

test.each([
  [{ host: 'evil.example' }, 403],
  [{ host: 'localhost', origin: 'http://evil.example' }, 403],
  [{ host: 'localhost', 'sec-fetch-site': 'cross-site' }, 403],
  [{ host: 'localhost' }, 200],
])('TCP: headers %o get %i', async (headers, status) => {
  await using server = await startServer(fakePorts(), loopback);
  expect((await server.request('GET', '/_ping', { headers })).status).toBe(status);
});

test('TCP: an upgrade from a foreign page is refused as well, one of a client is not', async () => {
  await using server = await startServer(fakePorts(), loopback);
  const attach = (host: string): string =>
    `POST /containers/x/attach HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n`;
  expect(await server.raw(attach('evil.example'), { thenEnd: true })).toMatch(/^HTTP\/1.1 403 /);
  expect(await server.raw(attach('127.0.0.1'), { thenEnd: true })).toMatch(/^HTTP\/1.1 101 .*bye$/s);
});

test('close: ends followers and attached clients, and cuts what does not end, within its grace', async () => {
  const stubborn = () => new Promise<never>(() => undefined);
  const ports = fakePorts({
    containers: {
      attach: () => Promise.resolve(conversation(true, stubborn)),
      wait: (_ref, { signal }) =>
        Promise.resolve({
          done: new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('stopping')));
          }),
        }),
      start: stubborn,
    },
  });
  const server = await startServer(ports);
  const attached = server.connect();
  attached.write(
    'POST /containers/x/attach HTTP/1.1\r\nHost: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
  );
  const waiting = server.connect();
  waiting.write('POST /containers/x/wait HTTP/1.1\r\nHost: d\r\n\r\n');
  const stuck = server.connect();
  stuck.write('POST /containers/x/start HTTP/1.1\r\nHost: d\r\n\r\n');
  await Promise.all([once(attached, 'data'), once(waiting, 'data')]);
  const ended: string[] = [];
  for (const [name, socket] of Object.entries({ attached, waiting, stuck })) {
    socket.resume();
    socket.on('error', () => undefined);
    socket.on('close', () => ended.push(name));
  }
  const startedAt = performance.now();
  await server[Symbol.asyncDispose]();
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(ended.toSorted()).toEqual(['attached', 'stuck', 'waiting']);
});

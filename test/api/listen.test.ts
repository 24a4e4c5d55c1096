import { once } from 'node:events';
import { readFileSync, renameSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { listen } from '../../api/listen.ts';
import { createApi } from '../../api/server.ts';
import { mustRunCommand } from '../../daemon/base/command.ts';
import { silentLogger } from '../../daemon/base/logger.ts';
import { startServer } from '../support/api/api-server.ts';
import { conversation, fakePorts } from '../support/api/fake-ports.ts';

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
  const kept = join(directory, 'kept.sock');
  renameSync(path, kept);
  leftOver.close();
  await once(leftOver, 'close');
  renameSync(kept, path);
  const again = await listen(api, { kind: 'unix', path, gid }, silentLogger);
  await again.close();
});

test('TCP: pages of the one site that is allowed may ask, and read the answers', async () => {
  const open = createApi({
    ports: fakePorts(),
    log: silentLogger,
    facts: { version: '0.1.0', experimental: false, os: 'linux', cgroupVersion: 1 },
    allowedOrigin: 'http://panel.example',
  });
  const listener = await listen(open, loopback, silentLogger);
  const url = `http://${listener.address.replace(/^tcp:\/\//, '')}/_ping`;
  const ask = async (method: string, origin: string): Promise<unknown[]> => {
    const { status, headers } = await fetch(url, { method, headers: { Origin: origin } });
    return [status, headers.get('access-control-allow-origin'), headers.get('access-control-allow-headers')];
  };
  const allowed = [
    200,
    'http://panel.example',
    'Origin, X-Requested-With, Content-Type, Accept, X-Registry-Auth',
  ];
  expect(await ask('OPTIONS', 'http://panel.example')).toEqual(allowed);
  expect(await ask('GET', 'http://panel.example')).toEqual(allowed);
  expect(await ask('GET', 'http://evil.example')).toEqual([403, null, null]);
  await listener.close();
});

test('TCP: only on loopback without TLS', async () => {
  await expect(listen(api, { kind: 'tcp', host: '0.0.0.0', port: 0 }, silentLogger)).rejects.toThrow(
    /refusing to listen on tcp:\/\/0.0.0.0:0 without TLS/,
  );
});

const attach = (host: string): string =>
  `POST /containers/x/attach HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n`;

/** Makes `<name>.pem` and `<name>.key` in the test's directory, signed by `issuer` or by itself. */
async function certify(name: string, issuer?: string): Promise<void> {
  const request =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -addext subjectAltName=IP:127.0.0.1';
  const files = ['-keyout', inDirectory(`${name}.key`), '-out', inDirectory(`${name}.pem`)];
  const signer =
    issuer === undefined ? [] : ['-CA', inDirectory(`${issuer}.pem`), '-CAkey', inDirectory(`${issuer}.key`)];
  await mustRunCommand(['openssl', ...request.split(' '), '-subj', `/CN=${name}`, ...files, ...signer]);
}

const inDirectory = (name: string): string => join(directory, name);
const pem = (name: string): string => readFileSync(inDirectory(name), 'utf8');

test('TCP with TLS: serves clients of its own authority and nobody else', async () => {
  await certify('ca');
  await certify('other-ca');
  await certify('server', 'ca');
  await certify('client', 'ca');
  await certify('stranger', 'other-ca');
  const tls = { certificate: pem('server.pem'), key: pem('server.key'), ca: pem('ca.pem') };
  const listener = await listen(api, { ...loopback, tls }, silentLogger);
  const port = Number(listener.address.split(':').at(-1));
  const ping = (identity: object): Promise<number | string> =>
    new Promise((resolve) => {
      const options = { host: '127.0.0.1', port, path: '/_ping', ca: tls.ca, agent: false, ...identity };
      https
        .get(options, (res) => {
          res.resume();
          resolve(res.statusCode ?? 0);
        })
        .on('error', () => resolve('refused'));
    });
  const identity = (name: string): object => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) });
  const outcomes = [await ping(identity('client')), await ping(identity('stranger')), await ping({})];

  const attached = connectTls({ host: '127.0.0.1', port, ca: tls.ca, ...identity('client') });
  let received = '';
  attached.on('data', (chunk: Buffer) => (received += chunk.toString()));
  attached.end(`${attach('127.0.0.1')}stdin`);
  await once(attached, 'close');
  await listener.close();
  expect(outcomes).toEqual([200, 'refused', 'refused']);
  expect(received).toMatch(/^HTTP\/1.1 101 .*stdinbye$/s);
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
  expect(await server.raw(attach('evil.example'), { thenEnd: true })).toMatch(/^HTTP\/1.1 403 /);
  expect(await server.raw(attach('127.0.0.1'), { thenEnd: true })).toMatch(/^HTTP\/1.1 101 .*bye$/s);
});

const stubborn = (): Promise<never> => new Promise<never>(() => undefined);

test('close: ends followers and attached clients, and cuts what does not end, within its grace', async () => {
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
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  await expect.poll(() => ended.toSorted()).toEqual(['attached', 'stuck', 'waiting']);
});

import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { notFound } from '../../daemon/base/errors.ts';
import { Deferred, startServer } from '../support/api/api-server.ts';
import { conversation, fakePorts } from '../support/api/fake-ports.ts';

const COMMON =
  'Api-Version: 1.55\r\nDocker-Experimental: false\r\nOstype: linux\r\nServer: Docker/0.1.0 (linux)\r\n\r\n';
const UPGRADE = 'Host: d\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n';
const upgraded = (type: string): string =>
  `HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.${type}-stream\r\n` +
  `Connection: Upgrade\r\nUpgrade: tcp\r\n${COMMON}`;
const PLAIN = `HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n${COMMON}`;

/** POST /exec/x/start with an Upgrade header; stdin follows right behind the body. */
const execStart = (version: string, body: string, stdin = ''): string =>
  `POST /v${version}/exec/x/start HTTP/1.1\r\n${UPGRADE}Content-Type: application/json\r\n` +
  `Content-Length: ${body.length}\r\n\r\n${body}${stdin}`;

test('attach: 101 with Upgrade; no early stdin is lost; output goes on after stdin ends', async () => {
  await using server = await startServer();
  const request = `POST /v1.44/containers/x/attach?stream=1&stdin=1 HTTP/1.1\r\n${UPGRADE}\r\nearly`;
  expect(await server.raw(request, { thenEnd: true })).toBe(`${upgraded('raw')}earlybye`);
});

test('attach: a body that nobody asked for is not stdin', async () => {
  await using server = await startServer();
  const request = `POST /v1.44/containers/x/attach?stream=1 HTTP/1.1\r\n${UPGRADE}Content-Length: 2\r\n\r\n{}in`;
  expect(await server.raw(request, { thenEnd: true })).toBe(`${upgraded('raw')}inbye`);
});

test('attach: 200 without Upgrade; stdin comes after it', async () => {
  await using server = await startServer();
  const socket = server.connect();
  let received = '';
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString();
    if (received === PLAIN) {
      socket.end('stdin');
    }
  });
  socket.write('POST /v1.24/containers/x/attach?stream=1 HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n');
  await once(socket, 'close');
  expect(received).toBe(`${PLAIN}stdinbye`);
});

test('attach: stdin as a chunked request body is taken out of its chunks', async () => {
  await using server = await startServer();
  const answer = await server.raw(
    'POST /containers/x/attach?stream=1 HTTP/1.1\r\nHost: d\r\nConnection: close\r\n' +
      'Transfer-Encoding: chunked\r\n\r\n5\r\nstdin\r\n0\r\n\r\n',
  );
  expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n.*\r\n\r\n5\r\nstdin\r\n3\r\nbye\r\n0\r\n\r\n$/s);
});

test.each([
  ['1.41', '{"Tty":false}', 'raw'],
  ['1.42', '{"Tty":false}', 'multiplexed'],
  ['1.42', '{"Tty":true}', 'raw'],
  ['1.44', '{}', 'multiplexed'],
])('exec start: at %s with %s is a %s stream', async (version, body, type) => {
  await using server = await startServer();
  expect(await server.raw(execStart(version, body, 'in'), { thenEnd: true })).toBe(`${upgraded(type)}inbye`);
});

test('exec start: a body that arrives in pieces is read to its length and not further', async () => {
  await using server = await startServer();
  const socket = server.connect();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  const request = execStart('1.44', '{"Tty":true,"ConsoleSize":[24,80]}', 'stdin');
  for (const piece of [request.slice(0, -30), request.slice(-30, -8), request.slice(-8)]) {
    socket.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  socket.end();
  await once(socket, 'close');
  expect(received).toBe(`${upgraded('raw')}stdinbye`);
});

function sayDone(socket: Duplex): Promise<void> {
  socket.end('done');
  return Promise.resolve();
}

test('exec start: output ends before stdin, and the connection with it', async () => {
  await using server = await startServer(
    fakePorts({ execs: { start: () => Promise.resolve(conversation(true, sayDone)) } }),
  );
  expect(await server.raw(execStart('1.44', '{"Tty":true}'))).toBe(`${upgraded('raw')}done`);
});

test('exec start: 20 MB both ways arrive whole', async () => {
  await using server = await startServer();
  const socket = server.connect();
  socket.write(execStart('1.44', '{"Tty":true}'));
  const total = 20 * 1024 * 1024;
  let received = 0;
  socket.on('data', (chunk: Buffer) => (received += chunk.length));
  socket.end(Buffer.alloc(total, 1));
  await once(socket, 'close');
  expect(received).toBe(upgraded('raw').length + total + 'bye'.length);
});

test.each([
  [execStart('1.44', '{"Tty"'), 400, /^\{"message":"invalid JSON: /],
  [execStart('1.44', '{"ConsoleSize":[1,2]}'), 400, /console size is only supported when TTY is enabled/],
  [execStart('1.99', '{}'), 400, /too new/],
  [`POST /plugins/x/enable HTTP/1.1\r\n${UPGRADE}\r\n`, 501, /not supported yet/],
  [`GET /_ping HTTP/1.1\r\n${UPGRADE}\r\n`, 200, /^OK$/],
  [
    `POST /exec/x/start HTTP/1.1\r\n${UPGRADE}Content-Type: application/json\r\n` +
      'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    /needs a Content-Length/,
  ],
])('an upgrade that does not get there: %# is an ordinary answer', async (request, status, body) => {
  await using server = await startServer();
  const [head, text] = (await server.raw(request)).split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} .*Connection: close`, 's'));
  expect(text).toMatch(body);
});

test('an upgrade whose body is cut short: is a 400', async () => {
  await using server = await startServer();
  const request = execStart('1.44', '{"Tty":true}').slice(0, -5);
  expect(await server.raw(request, { thenEnd: true })).toMatch(/^HTTP\/1.1 400 .*shorter than/s);
});

function mustNotConnect(): Promise<never> {
  return Promise.reject(new Error('must not connect'));
}

function refuseAttach(): Promise<never> {
  return Promise.reject(notFound('No such container: x'));
}

test('attach: an error of the engine before the conversation is a status', async () => {
  await using server = await startServer(fakePorts({ containers: { attach: refuseAttach } }));
  const answer = await server.raw(`POST /containers/x/attach HTTP/1.1\r\n${UPGRADE}\r\n`);
  expect(answer).toMatch(/^HTTP\/1.1 404 .*\{"message":"No such container: x"\}\n$/s);
});

test('attach: a client that is gone before the conversation gives back what was reserved', async () => {
  const abandoned = new Deferred();
  const asked = new Deferred();
  const held = new Deferred();
  const ports = fakePorts({
    containers: {
      attach: async () => {
        asked.resolve();
        await held.promise;
        return { tty: true, connect: mustNotConnect, abandon: () => abandoned.resolve() };
      },
    },
  });
  await using server = await startServer(ports);
  const socket = server.connect();
  socket.write('POST /containers/x/attach HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n');
  await asked.promise;
  socket.destroy();
  // Who is answered now is so after the server has seen that the other one left.
  await server.request('GET', '/_ping');
  await server.request('GET', '/_ping');
  held.resolve();
  await abandoned.promise;
});

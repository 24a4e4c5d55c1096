import { once } from 'node:events';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { limits } from '../../daemon/base/limits.ts';
import { startServer } from '../support/api/api-server.ts';
import type { TestServer } from '../support/api/api-server.ts';
import { until } from '../support/engine/http.ts';

const CREATE =
  'POST /v1.44/containers/create HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
const START_EXEC =
  'POST /v1.44/exec/x/start HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n' +
  'Connection: Upgrade\r\nUpgrade: tcp\r\n';

/** Requests whose bodies begin and do not end, one for each way that bodies are read. */
const WAYS = [
  ['of a length', `${CREATE}Content-Length: 100\r\n\r\n{"Image":`],
  ['in chunks', `${CREATE}Transfer-Encoding: chunked\r\n\r\n5\r\n{"Ima\r\n`],
  ['before a hijack', `${START_EXEC}Content-Length: 100\r\n\r\n{"Tty":`],
] as const;

const TCP = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;

afterEach(() => {
  vi.useRealTimers();
});

/** A server, what it logs of failed requests, and a client that has sent `text` and keeps silent. */
async function stalled(
  text: string,
  address?: typeof TCP,
): Promise<{ server: TestServer; socket: Socket; failed: string[] }> {
  const failed: string[] = [];
  const note = (line: string): void => {
    const { err } = JSON.parse(line) as { err?: { message: string } };
    failed.push(err?.message ?? line);
  };
  const server = await startServer(undefined, address, pino({ level: 'debug' }, { write: note }));
  const socket = server.connect();
  await once(socket, 'connect');
  await new Promise((sent) => socket.write(text, sent));
  // Behind it on another connection: the server has begun with the first one.
  await server.request('GET', '/_ping');
  return { server, socket, failed };
}

test.each(WAYS)('a body %s whose client leaves: ends its request', async (_way, text) => {
  const { server, socket, failed } = await stalled(text);
  await using _server = server;
  socket.destroy();
  await until('the end of the request', () => failed.length > 0);
  expect(failed.join()).toMatch(
    /client hung up while sending the body|shorter than its Content-Length of 100/,
  );
});

test.each(WAYS)('a body %s whose connection is reset: ends its request', async (_way, text) => {
  const { server, socket, failed } = await stalled(text, TCP);
  await using _server = server;
  socket.resetAndDestroy();
  await until('the end of the request', () =>
    failed.some((message) => message.startsWith('client hung up while sending the body')),
  );
});

test.each(WAYS)(
  'a body %s that does not come to its end: is refused in words, and cut off',
  async (_way, text) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { server, socket, failed } = await stalled(text);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const closed = once(socket, 'close');
    await vi.advanceTimersByTimeAsync(limits.requestBodyTimeoutMs);
    vi.useRealTimers();
    await closed;
    await using _server = server;
    expect(failed).toEqual(['request body did not arrive within 60 seconds']);
    expect(received).toMatch(/^HTTP\/1.1 400 .*Connection: close\r\n.*did not arrive within 60 seconds/s);
  },
);

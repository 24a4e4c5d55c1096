import { once } from 'node:events';
import { expect, test } from 'vitest';
import { Deferred, startServer } from '../support/api/api-server.ts';
import { fakePorts } from '../support/api/fake-ports.ts';
import { until } from '../support/engine/http.ts';

/** Requests that a client sends before it has read the answers to those before (RFC 9112, section 9.3.2). */
const WAIT = 'POST /v1.44/containers/x/wait HTTP/1.1\r\nHost: d\r\nContent-Length: 0\r\n\r\n';
const EVENTS = 'GET /v1.44/events HTTP/1.1\r\nHost: d\r\n\r\n';
const ATTACH = 'POST /v1.44/containers/x/attach?stream=1&stdin=1 HTTP/1.1\r\nHost: d\r\n';

/** A wait that a test answers, and a stream of events that tells whether it is open. */
function slowPorts() {
  const exit = new Deferred<{ StatusCode: number }>();
  const seen = { waits: 0, streams: 0, open: 0 };
  const ports = fakePorts({
    containers: {
      wait: () => {
        seen.waits += 1;
        return Promise.resolve({ done: exit.promise });
      },
    },
    events: {
      async *stream({ signal }) {
        seen.streams += 1;
        seen.open += 1;
        if (!signal.aborted) {
          await once(signal, 'abort');
        }
        seen.open -= 1;
        yield* [];
      },
    },
  });
  return { exit, seen, ports };
}

test('a request sent behind an unanswered one: begins when that is answered, and ends with its client', async () => {
  const { exit, seen, ports } = slowPorts();
  await using server = await startServer(ports);
  const socket = server.connect();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write(WAIT + EVENTS);
  await until('the wait', () => seen.waits === 1);
  expect(seen.streams).toBe(0);
  exit.resolve({ StatusCode: 7 });
  await until('the stream', () => seen.open === 1);
  expect(received).toContain('{"StatusCode":7}');
  socket.destroy();
  await until('the end of the stream', () => seen.open === 0);
});

test('a request sent behind an unanswered one: is not begun for a client that has left', async () => {
  const { exit, seen, ports } = slowPorts();
  await using server = await startServer(ports);
  const socket = server.connect();
  socket.write(WAIT + EVENTS);
  await until('the wait', () => seen.waits === 1);
  socket.destroy();
  await once(socket, 'close');
  exit.resolve({ StatusCode: 0 });
  // Answered on a connection of its own, and after it.
  await server.request('GET', '/_ping');
  expect(seen).toEqual({ waits: 1, streams: 0, open: 0 });
});

test.each([
  ['without Upgrade', 'Content-Length: 0\r\n\r\n', 'HTTP/1.1 200 OK'],
  ['with Upgrade', 'Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n', 'HTTP/1.1 101 UPGRADED'],
])('attach %s sent behind an unanswered request: both are answered in turn', async (_how, rest, head) => {
  const { exit, seen, ports } = slowPorts();
  await using server = await startServer(ports);
  const socket = server.connect();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  socket.write(WAIT + ATTACH + rest);
  await until('the wait', () => seen.waits === 1);
  exit.resolve({ StatusCode: 7 });
  await until('the attach', () => received.includes('raw-stream'));
  socket.end('stdin');
  await once(socket, 'close');
  expect(received.indexOf('{"StatusCode":7}')).toBeLessThan(received.lastIndexOf(head));
  expect(received).toMatch(/stdinbye$/);
});

import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { ProgressMessage } from '../../api/types/image.ts';
import type { ImagePort } from '../../api/types/ports.ts';
import { frame } from '../../api/streams/frames.ts';
import { invalidArgument, notFound } from '../../daemon/base/errors.ts';
import { Deferred, startServer } from '../support/api/api-server.ts';
import { EVENT, fakePorts } from '../support/api/fake-ports.ts';

/** Collects what a raw request gets until `enough` of it is there. */
async function until(socket: NodeJS.ReadableStream, enough: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += String(chunk);
    if (enough.test(text)) {
      return text;
    }
  }
  throw new Error(`connection ended with ${text}`);
}

test('wait: from 1.30 the headers come at once, before at the end', async () => {
  const exit = new Deferred<{ StatusCode: number }>();
  await using server = await startServer(
    fakePorts({ containers: { wait: () => Promise.resolve({ done: exit.promise }) } }),
  );
  const old = server.raw('POST /v1.29/containers/x/wait HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n');
  const socket = server.connect();
  socket.write('POST /v1.30/containers/x/wait HTTP/1.1\r\nHost: d\r\n\r\n');
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n.*\r\n\r\n$/s);
  exit.resolve({ StatusCode: 7 });
  expect(await until(socket, /StatusCode/)).toContain('{"StatusCode":7}');
  expect(await old).toMatch(/^HTTP\/1.1 200 .*Content-Length: 17\r\n.*\{"StatusCode":7\}\n$/s);
  socket.destroy();
});

test('wait: a client that hangs up aborts the signal', async () => {
  const aborted = new Deferred<unknown>();
  const ports = fakePorts({
    containers: {
      wait: (_ref, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve(signal.reason));
        return Promise.resolve({ done: new Promise(() => undefined) });
      },
    },
  });
  await using server = await startServer(ports);
  const socket = server.connect();
  socket.write('POST /containers/x/wait HTTP/1.1\r\nHost: d\r\n\r\n');
  await once(socket, 'data');
  socket.destroy();
  expect(await aborted.promise).toMatchObject({ code: 'canceled' });
});

test('logs: content type tells frames from raw output, from 1.42 on', async () => {
  const types: string[] = [];
  for (const tty of [true, false]) {
    const logs = () => Promise.resolve({ tty, bytes: Readable.from([Buffer.from('x')]) });
    await using server = await startServer(fakePorts({ containers: { logs } }));
    for (const version of ['1.41', '1.42']) {
      const { headers } = await server.request('GET', `/v${version}/containers/x/logs?stdout=1`);
      types.push(`${version} ${tty ? 'tty' : 'frames'}: ${headers['content-type']}`);
    }
  }
  expect(types).toEqual([
    '1.41 tty: application/vnd.docker.raw-stream',
    '1.42 tty: application/vnd.docker.raw-stream',
    '1.41 frames: application/vnd.docker.raw-stream',
    '1.42 frames: application/vnd.docker.multiplexed-stream',
  ]);
});

test('logs: options reach the engine, and neither stream is an error before the first byte', async () => {
  const seen: unknown[] = [];
  const ports = fakePorts({
    containers: {
      logs: (_ref, options) => {
        seen.push({ ...options, signal: undefined });
        return Promise.resolve({ tty: true, bytes: Readable.from([]) });
      },
    },
  });
  await using server = await startServer(ports);
  await server.request('GET', '/containers/x/logs?stdout=1&follow=true&tail=5&since=1.5&until=2');
  await server.request('GET', '/v1.34/containers/x/logs?stderr=1&tail=all&since=0&until=2');
  expect(seen).toEqual([
    {
      follow: true,
      stdout: true,
      stderr: false,
      timestamps: false,
      details: false,
      tail: 5,
      since: 1_500_000_000n,
      until: 2_000_000_000n,
    },
    {
      follow: false,
      stdout: false,
      stderr: true,
      timestamps: false,
      details: false,
      until: 2_000_000_000n,
    },
  ]);
  expect(await server.request('GET', '/containers/x/logs')).toMatchObject({
    status: 400,
    body: '{"message":"Bad parameters: you must choose at least one stream"}\n',
  });
});

test('logs: a follower that hangs up stops the stream of the engine', async () => {
  const bytes = new PassThrough();
  const logs = () => Promise.resolve({ tty: true, bytes });
  await using server = await startServer(fakePorts({ containers: { logs } }));
  const socket = server.connect();
  socket.write('GET /containers/x/logs?stdout=1&follow=1 HTTP/1.1\r\nHost: d\r\n\r\n');
  await once(socket, 'data');
  socket.destroy();
  await new Promise((resolve) => bytes.once('close', resolve));
  expect(bytes.destroyed).toBe(true);
});

test('events: headers at once, one line each, nanoseconds exact', async () => {
  const happening = new Deferred();
  const ports = fakePorts({
    events: {
      async *stream() {
        await happening.promise;
        yield EVENT;
      },
    },
  });
  await using server = await startServer(ports);
  const socket = server.connect();
  socket.write('GET /events HTTP/1.1\r\nHost: d\r\n\r\n');
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1.1 200 OK\r\n.*Content-Type: application\/jsonl\r\n/s);
  happening.resolve();
  const text = await until(socket, /timeNano/);
  expect(text).toContain('"time":1780000000,"timeNano":1780000000123456789}\n');
  socket.destroy();
});

test.each([
  ['/events', 'application/json-seq', 'application/json-seq', '\u001e{"Type"'],
  ['/events', 'text/html, application/x-ndjson;q=0.9', 'application/x-ndjson', '{"Type"'],
  ['/events', '*/*', 'application/jsonl', '{"Type"'],
  ['/v1.51/events', 'application/json-seq', 'application/json', '{"status":"start","id":"a1b2'],
])('events: %s with Accept %s are %s', async (path, accept, type, first) => {
  const ports = fakePorts({ events: { stream: () => Readable.from([EVENT]) } });
  await using server = await startServer(ports);
  const answer = await server.request('GET', path, { headers: { accept } });
  expect([answer.status, answer.headers['content-type'], answer.body.slice(0, first.length)]).toEqual([
    200,
    type,
    first,
  ]);
});

test('events: wrong arguments are a status, not a broken stream', async () => {
  const ports = fakePorts({
    events: {
      async *stream({ filters }) {
        yield* await Promise.reject<never[]>(invalidArgument(`invalid filter ${[...filters.keys()][0]}`));
      },
    },
  });
  await using server = await startServer(ports);
  expect(await server.request('GET', '/events?filters={"a":["b"]}')).toMatchObject({
    status: 400,
    body: '{"message":"invalid filter a"}\n',
  });
});

/** A load and a pull that fail after some messages. */
function failing(after: number): Pick<ImagePort, 'load' | 'pull'> {
  const messages = async function* (): AsyncGenerator<ProgressMessage> {
    for (let index = 0; index < after; index += 1) {
      yield await Promise.resolve({ status: 'Loading', id: String(index) });
    }
    throw notFound('no manifest');
  };
  return { load: messages, pull: messages };
}

test('pull: messages end in CR LF; an error is a status before the first and the last message after it', async () => {
  await using early = await startServer(fakePorts({ images: failing(0) }));
  expect(await early.request('POST', '/images/create?fromImage=x')).toMatchObject({
    status: 404,
    body: '{"message":"no manifest"}\n',
  });
  expect(await early.request('POST', '/images/load', { body: 'x' })).toMatchObject({
    status: 200,
    body: '{"errorDetail":{"message":"no manifest"},"error":"no manifest"}\r\n',
  });
  await using late = await startServer(fakePorts({ images: failing(1) }));
  expect(await late.request('POST', '/images/create?fromImage=x')).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body:
      '{"status":"Loading","id":"0"}\r\n' +
      '{"errorDetail":{"message":"no manifest"},"error":"no manifest"}\r\n',
  });
});

test('load: a large chunked body streams through, quiet unless told otherwise', async () => {
  const quiet: boolean[] = [];
  const base = fakePorts();
  const ports = fakePorts({
    images: {
      load: (tar, options) => {
        quiet.push(options.quiet);
        return base.images.load(tar, options);
      },
    },
  });
  await using server = await startServer(ports);
  const body = Buffer.alloc(8 * 1024 * 1024);
  const headers = { 'transfer-encoding': 'chunked' };
  expect(await server.request('POST', '/images/load', { headers, body })).toMatchObject({
    status: 200,
    body: '{"stream":"read 8388608 bytes"}\r\n',
  });
  await server.request('POST', '/images/load?quiet=0', { body: 'x' });
  expect(quiet).toEqual([true, false]);
});

test('save: names may be repeated; a tarball that breaks off breaks the connection', async () => {
  const seen: unknown[] = [];
  const ports = fakePorts({
    images: {
      save: (refs) => {
        seen.push(refs);
        return Promise.resolve(
          Readable.from(
            (function* () {
              yield Buffer.from('half a tar');
              throw new Error('disk');
            })(),
          ),
        );
      },
    },
  });
  await using server = await startServer(ports);
  await expect(server.request('GET', '/images/get?names=a&names=b/c:d')).rejects.toThrow(/aborted/);
  expect(seen).toEqual([['a', 'b/c:d']]);
});

test('frame: is type, three zeros, length and bytes', () => {
  expect(frame('stderr', Buffer.from('abc')).toString('hex')).toBe('0200000000000003616263');
});

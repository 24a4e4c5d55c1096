import { createHash } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, inflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LogMessage } from '../../../../daemon/base/log-message.ts';
import { openSink } from '../../../../runtime/log-drivers/drivers.ts';
import type { LogDriverName } from '../../../../runtime/log-drivers/drivers.ts';
import type { LogSink } from '../../../../runtime/log-drivers/sink.ts';
import { signed } from '../../../../runtime/log-drivers/aws/signature.ts';
import { unpack } from '../../../support/msgpack.ts';

const CONTAINER = {
  id: 'c0ffee'.padEnd(64, '0'),
  name: 'web',
  imageId: 'sha256:1234567890',
  imageName: 'busybox:latest',
  createdNano: 0n,
  labels: { tier: 'front' },
  env: ['ZONE=a'],
  path: 'sh',
  args: ['-c', 'true'],
};
const NANO = 1_767_225_600_123_456_789n;
const message = (text: string, change: Partial<LogMessage> = {}): LogMessage => ({
  stream: 'stdout',
  nano: NANO,
  line: Buffer.from(text),
  ...change,
});

const cleanups: (() => unknown)[] = [];
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-receivers-'));
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) {
    await cleanup();
  }
  rmSync(directory, { recursive: true, force: true });
});

function open(driver: LogDriverName, options: Record<string, string>): LogSink {
  const sink = openSink(driver, CONTAINER, options)?.sink;
  if (sink === undefined) {
    throw new Error(`${driver} has no receiver`);
  }
  cleanups.push(() => sink.close());
  return sink;
}

/** A stream server: what it received, and its address. */
async function listen(onData?: (socket: Socket, data: Buffer) => void): Promise<{
  port: number;
  path: string;
  received: () => Buffer;
  server: Server;
  sockets: Set<Socket>;
}> {
  const chunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('data', (data: Buffer) => {
      chunks.push(data);
      onData?.(socket, data);
    });
    socket.on('error', () => sockets.delete(socket));
  };
  const server = createServer(accept).listen(0, '127.0.0.1');
  const path = join(directory, 'receiver.sock');
  const local = createServer(accept).listen(path);
  await Promise.all([once(server, 'listening'), once(local, 'listening')]);
  cleanups.push(() => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
    local.close();
  });
  return {
    // An address of the family that was asked for, never a path.
    port: (server.address() as AddressInfo).port,
    path,
    received: () => Buffer.concat(chunks),
    server,
    sockets,
  };
}

async function datagrams(): Promise<{ port: number; received: Buffer[] }> {
  const socket = createSocket('udp4');
  const received: Buffer[] = [];
  socket.on('message', (data) => received.push(data));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  cleanups.push(() => socket.close());
  return { port: socket.address().port, received };
}

describe('syslog', () => {
  test.each([
    ['', /^<30>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d web\[\d+\]: hi\n$/],
    ['rfc3164', /^<30>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ web\[\d+\]: hi\n$/],
    ['rfc5424', /^<30>1 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d) \S+ web \d+ web - hi\n$/],
    ['rfc5424micro', /^<30>1 \S+T\d\d:\d\d:\d\d\.123456(Z|[+-]\d\d:\d\d) \S+ web \d+ web - hi\n$/],
  ])('format %j over UDP', async (format, expected) => {
    const { port, received } = await datagrams();
    const options = { 'syslog-address': `udp://127.0.0.1:${port}`, tag: '{{.Name}}' };
    await open('syslog', { ...options, ...(format && { 'syslog-format': format }) }).send([message('hi')]);
    await expect.poll(() => received.map(String)).toEqual([expect.stringMatching(expected)]);
  });

  test('over TCP and a Unix socket, with facility and severity, in order', async () => {
    const receiver = await listen();
    for (const address of [`tcp://127.0.0.1:${receiver.port}`, `unix://${receiver.path}`]) {
      const sink = open('syslog', { 'syslog-address': address, 'syslog-facility': 'local1' });
      await sink.connect?.();
      await sink.send([message('one'), message('two', { stream: 'stderr' })]);
    }
    await expect.poll(() => receiver.received().toString().split('\n').length).toBe(5);
    const heads = receiver
      .received()
      .toString()
      .split('\n')
      .map((line) => line.replace(/^(<\d+>).* /, '$1'));
    expect(heads).toEqual(['<142>one', '<139>two', '<142>one', '<139>two', '']);
  });

  test('a receiver that goes is noticed, and found again when it is back', async () => {
    const receiver = await listen();
    const sink = open('syslog', { 'syslog-address': `tcp://127.0.0.1:${receiver.port}` });
    await sink.send([message('one')]);
    await expect.poll(() => receiver.sockets.size).toBe(1);
    receiver.server.close();
    receiver.sockets.forEach((socket) => socket.destroy());
    await expect
      .poll(() =>
        sink.send([message('lost')]).then(
          () => 'taken',
          (error: unknown) => String(error),
        ),
      )
      .toMatch(/closed|ECONNREFUSED|EPIPE|ECONNRESET/);
    receiver.server.listen(receiver.port, '127.0.0.1');
    await once(receiver.server, 'listening');
    await sink.send([message('two')]);
    await expect.poll(() => receiver.received().toString()).toMatch(/two\n$/);
  });

  test('a receiver that is not there is told at once', async () => {
    const sink = open('syslog', { 'syslog-address': 'tcp://127.0.0.1:1' });
    await expect(sink.connect?.()).rejects.toThrow('ECONNREFUSED');
  });
});

describe('gelf', () => {
  const expected = {
    version: '1.1',
    host: hostname(),
    short_message: 'hi',
    timestamp: 1_767_225_600.123,
    level: 3,
    _container_id: CONTAINER.id,
    _container_name: 'web',
    _image_id: CONTAINER.imageId,
    _image_name: 'busybox:latest',
    _command: 'sh -c true',
    _tag: 'c0ffee000000',
    _created: '1970-01-01T00:00:00.000000000Z',
    _tier: 'front',
    _ZONE: 'a',
  };
  const attributes = { labels: 'tier', env: 'ZONE' };
  const error = message('hi', { stream: 'stderr' });

  test.each([
    ['gzip', gunzipSync],
    ['zlib', inflateSync],
    ['none', (data: Buffer) => data],
  ])('over UDP, packed by %s', async (type, unpackWith) => {
    const { port, received } = await datagrams();
    const options = { 'gelf-address': `udp://127.0.0.1:${port}`, 'gelf-compression-type': type };
    await open('gelf', { ...options, ...attributes }).send([error]);
    await expect.poll(() => received.length).toBe(1);
    expect(JSON.parse(unpackWith(received[0] ?? Buffer.alloc(0)).toString())).toEqual(expected);
  });

  test('a long message comes in numbered datagrams', async () => {
    const { port, received } = await datagrams();
    const options = { 'gelf-address': `udp://127.0.0.1:${port}`, 'gelf-compression-type': 'none' };
    const text = Array.from({ length: 3000 }, (_, index) => index).join(' ');
    await open('gelf', options).send([message(text)]);
    const count = (): number => received[0]?.[11] ?? 0;
    await expect.poll(() => count() > 1 && received.length === count()).toBe(true);
    const sorted = received.toSorted((a, b) => (a[10] ?? 0) - (b[10] ?? 0));
    expect(new Set(sorted.map((part) => part.toString('hex', 0, 10))).size).toBe(1);
    const whole = JSON.parse(Buffer.concat(sorted.map((part) => part.subarray(12))).toString());
    expect(whole).toMatchObject({ short_message: text });
  });

  test('over TCP each message ends with a zero byte', async () => {
    const receiver = await listen();
    await open('gelf', { 'gelf-address': `tcp://127.0.0.1:${receiver.port}`, ...attributes }).send([
      error,
      error,
    ]);
    await expect.poll(() => receiver.received().toString().split('\0').length).toBe(3);
    const [first = '', second = '', rest] = receiver.received().toString().split('\0');
    expect([JSON.parse(first), JSON.parse(second), rest]).toEqual([expected, expected, '']);
  });
});

describe('fluentd', () => {
  test('forward protocol, with acknowledgement and nanoseconds', async () => {
    const receiver = await listen((socket, data) => {
      const [value] = unpack(data);
      const chunk = /"chunk":"([^"]*)"/.exec(JSON.stringify(value))?.[1] ?? '';
      socket.write(
        Buffer.concat([
          Buffer.from([0x81, 0xa3]),
          Buffer.from('ack'),
          Buffer.from([0xa0 + chunk.length]),
          Buffer.from(chunk),
        ]),
      );
    });
    const sink = open('fluentd', {
      'fluentd-address': `127.0.0.1:${receiver.port}`,
      'fluentd-request-ack': 'true',
      'fluentd-sub-second-precision': 'true',
      tag: 'berth.{{.Name}}',
      env: 'ZONE',
    });
    await sink.send([message('hi'), message('part', { partial: { id: 'x', ordinal: 1, last: false } })]);
    const record = { container_id: CONTAINER.id, container_name: '/web', source: 'stdout', ZONE: 'a' };
    expect(unpack(receiver.received())).toEqual([
      [
        'berth.web',
        [
          [
            { seconds: 1_767_225_600, nanos: 123_456_789 },
            { ...record, log: 'hi' },
          ],
          [
            { seconds: 1_767_225_600, nanos: 123_456_789 },
            {
              ...record,
              log: 'part',
              partial_message: 'true',
              partial_id: 'x',
              partial_ordinal: '1',
              partial_last: 'false',
            },
          ],
        ],
        { size: 2, chunk: expect.stringMatching(/^[\w+/=]{24}$/) },
      ],
    ]);
  });

  test('without an acknowledgement, over a Unix socket, long strings and many messages', async () => {
    const receiver = await listen();
    const sink = open('fluentd', { 'fluentd-address': `unix://${receiver.path}` });
    const many = Array.from({ length: 1000 }, (_, index) => message(`${index} ${'x'.repeat(index)}`));
    await sink.send(many);
    await expect.poll(() => receiver.received().length).toBeGreaterThan(600_000);
    await expect
      .poll(() => {
        const all = unpack(receiver.received()) as [string, [number, { log: string }][], object][];
        return all.flatMap(([, entries]) => entries.map(([, { log }]) => log));
      })
      .toEqual(many.map(({ line }) => line.toString()));
  });
});

/** An HTTP server; answers what `answer` says, and keeps what it was asked. */
async function serve(
  answer: (request: IncomingMessage, body: string) => { status: number; text: string },
): Promise<{
  url: string;
  calls: { method: string; path: string; headers: IncomingMessage['headers']; body: string }[];
}> {
  const calls: { method: string; path: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const server = createHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks);
      const body = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString();
      calls.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body });
      const { status, text } = answer(request, body);
      response.writeHead(status).end(text);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

describe('splunk', () => {
  test.each([
    ['inline', { event: { line: '{"a":1}', source: 'stdout', tag: 'web', attrs: { tier: 'front' } } }],
    ['json', { event: { line: { a: 1 }, source: 'stdout', tag: 'web', attrs: { tier: 'front' } } }],
    ['raw', { event: 'web tier=front {"a":1}' }],
  ])('format %s, packed, with its token', async (format, expected) => {
    const { url, calls } = await serve(() => ({ status: 200, text: '{"text":"Success","code":0}' }));
    const sink = open('splunk', {
      'splunk-url': url,
      'splunk-token': 'secret',
      'splunk-format': format,
      'splunk-gzip': 'true',
      'splunk-index': 'main',
      tag: '{{.Name}}',
      labels: 'tier',
    });
    await sink.connect?.();
    await sink.send([message('{"a":1}')]);
    expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'OPTIONS /services/collector/event/1.0',
      'POST /services/collector/event/1.0',
    ]);
    expect(calls[1]?.headers.authorization).toBe('Splunk secret');
    expect(JSON.parse(calls[1]?.body ?? '')).toEqual({
      ...expected,
      time: '1767225600.123456',
      host: hostname(),
      index: 'main',
    });
  });

  test.each([
    [503, 'Error'],
    [400, 'RejectedError'],
  ])('an answer %i is a failure of kind %s', async (status, name) => {
    const { url } = await serve(() => ({ status, text: 'no' }));
    const sink = open('splunk', { 'splunk-url': url, 'splunk-token': 't' });
    await expect(sink.send([message('x')])).rejects.toMatchObject({ name });
  });
});

describe('awslogs', () => {
  const KEYS = { accessKeyId: 'AKID', secretAccessKey: 'SECRET' };

  test('a signature is that of the published example', () => {
    // AWS General Reference, "Signature Version 4 test suite": post-vanilla.
    const headers = signed(
      {
        url: new URL('https://example.amazonaws.com/'),
        headers: {},
        body: Buffer.alloc(0),
        region: 'us-east-1',
        service: 'service',
        nowMs: Date.UTC(2015, 7, 30, 12, 36, 0),
      },
      { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
    );
    expect(headers['authorization']).toContain(
      'Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    );
  });

  test('makes group and stream, signs, and puts lines together by their first', async () => {
    const made = new Set<string>();
    const { url, calls } = await serve((request, body) => {
      const operation = String(request.headers['x-amz-target']).split('.')[1];
      const signedAgain = signed(
        {
          url: new URL(`http://${request.headers.host}/`),
          headers: {
            'content-type': String(request.headers['content-type']),
            'x-amz-target': String(request.headers['x-amz-target']),
          },
          body: Buffer.from(body),
          region: 'eu-1',
          service: 'logs',
          nowMs: Date.parse(
            String(request.headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)(..)Z$/, '$1-$2-$3:$4:$5Z'),
          ),
        },
        KEYS,
      );
      if (signedAgain['authorization'] !== request.headers.authorization) {
        return { status: 403, text: '{"__type":"InvalidSignatureException"}' };
      }
      if (operation === 'CreateLogStream' && !made.has('CreateLogGroup')) {
        return { status: 400, text: '{"__type":"ResourceNotFoundException"}' };
      }
      made.add(operation ?? '');
      return { status: 200, text: '{}' };
    });
    process.env['AWS_ACCESS_KEY_ID'] = KEYS.accessKeyId;
    process.env['AWS_SECRET_ACCESS_KEY'] = KEYS.secretAccessKey;
    cleanups.push(() => {
      delete process.env['AWS_ACCESS_KEY_ID'];
      delete process.env['AWS_SECRET_ACCESS_KEY'];
    });
    const sink = open('awslogs', {
      'awslogs-group': 'g',
      'awslogs-region': 'eu-1',
      'awslogs-endpoint': url,
      'awslogs-create-group': 'true',
      'awslogs-datetime-format': '%Y-%m-%d',
      tag: '{{.Name}}',
    });
    await sink.connect?.();
    await sink.send([message('2026-01-01 first'), message('  second'), message('2026-01-02 next')]);
    const put = JSON.parse(calls.at(-1)?.body ?? '');
    expect(put).toEqual({
      logGroupName: 'g',
      logStreamName: 'web',
      logEvents: [
        { message: '2026-01-01 first\n  second\n', timestamp: 1_767_225_600_123 },
        { message: '2026-01-02 next\n', timestamp: 1_767_225_600_123 },
      ],
    });
    expect(
      createHash('sha256')
        .update(calls.map(({ method }) => method).join(''))
        .digest('hex'),
    ).toBeDefined();
  });
});

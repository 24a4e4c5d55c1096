import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { describeEngine, onReference } from '../../support/engine/engine.ts';
import type { Engine } from '../../support/engine/engine.ts';
import type { Hijacked } from '../../support/engine/http.ts';
import { until } from '../../support/engine/http.ts';
import { descriptorCounts, descriptorGrowth } from '../../support/engine/oracle.ts';
import { WAIT_MS } from '../../support/patience.ts';
import { residentBytes } from '../../support/process.ts';

/** BERTH_TEST_LOOPS=10 does ten times as many of everything. */
const LOOPS = Number(process.env['BERTH_TEST_LOOPS'] ?? 1);
const MIB = 1024 * 1024;

/** A request of which the head is given and the body is whatever `write` sends; answers all that came back. */
function send(engine: Engine, head: string, write: (socket: Socket) => void): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(engine.daemon.paths.socket);
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString()));
    socket.on('error', () => {
      // The daemon cuts who sends too much; what it said before counts.
    });
    socket.once('close', () => resolve(answer));
    socket.setTimeout(WAIT_MS, () => socket.destroy());
    socket.write(`${head}\r\n\r\n`);
    write(socket);
  });
}

const post = (path: string, more: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: d\r\nConnection: close\r\nContent-Type: application/json\r\n${more}`;

/** Sends chunks of a body for as long as the other side takes them. */
function pour(socket: Socket): void {
  const chunk = Buffer.from(`${(64 * 1024).toString(16)}\r\n${'a'.repeat(64 * 1024)}\r\n`);
  const more = (): void => {
    while (!socket.destroyed && socket.writable && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

/** The slowest of the pings sent while `action` goes on, in milliseconds. */
async function slowestPing(engine: Engine, action: () => Promise<unknown>): Promise<number> {
  const pinging = new AbortController();
  const pings = (async () => {
    let slowest = 0;
    while (!pinging.signal.aborted) {
      const at = performance.now();
      await engine.http.request('GET', '/_ping');
      slowest = Math.max(slowest, performance.now() - at);
    }
    return slowest;
  })();
  try {
    await action();
  } finally {
    pinging.abort();
  }
  return pings;
}

describeEngine('exhaustion', (engine) => {
  test.runIf(!onReference)(
    'class 25: a body that is larger than allowed is refused before it is read',
    async () => {
      const before = residentBytes(engine.daemon.pid);
      for (const length of [4 * MIB + 1, 2 ** 31, 2 ** 33, Number.MAX_SAFE_INTEGER]) {
        const head = post('/containers/create', `Content-Length: ${length}`);
        const answer = await send(engine, head, () => undefined);
        expect(answer).toMatch(/^HTTP\/1\.1 400 .*request body is larger than/s);
      }
      expect(residentBytes(engine.daemon.pid) - before).toBeLessThan(32 * MIB);
    },
  );

  test.runIf(!onReference)(
    'class 25: a string without an end is cut off, by every route that reads JSON',
    async () => {
      const before = residentBytes(engine.daemon.pid);
      for (const path of ['/containers/create', '/volumes/create', '/containers/x/exec', '/exec/x/start']) {
        const answer = await send(engine, post(path, 'Transfer-Encoding: chunked'), pour);
        expect([path, answer.slice(0, 12)]).toEqual([path, 'HTTP/1.1 400']);
      }
      expect(residentBytes(engine.daemon.pid) - before).toBeLessThan(64 * MIB);
    },
  );

  test.runIf(!onReference).each([
    ['one long header', `X-Long: ${'a'.repeat(128 * 1024)}`],
    ['many headers', Array.from({ length: 20_000 }, (_, index) => `X-${index}: 1`).join('\r\n')],
    ['a registry configuration without an end', `X-Registry-Config: ${'A'.repeat(MIB)}`],
  ])('class 25: %s is refused', async (_what, headers) => {
    const answer = await send(engine, `GET /_ping HTTP/1.1\r\nHost: d\r\n${headers}`, (socket) =>
      socket.end(),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  });

  test.runIf(!onReference)('class 25: a request line without an end is refused', async () => {
    const answer = await send(engine, `GET /${'a'.repeat(256 * 1024)} HTTP/1.1\r\nHost: d`, (socket) =>
      socket.end(),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 (414|431) /);
  });

  test.runIf(!onReference).each([
    ['lists', '['.repeat(100_000)],
    ['objects', '{"a":'.repeat(100_000)],
    ['labels', `{"Image":"busybox","Labels":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`],
    ['a filter', ''],
  ])('class 25: JSON that nests deeper than anything real is 400: %s', async (_what, text) => {
    const answer =
      text === ''
        ? await engine.http.request(
            'GET',
            `/containers/json?filters=${encodeURIComponent('['.repeat(10_000))}`,
          )
        : await engine.http.request('POST', '/containers/create', {
            body: Buffer.from(text),
            headers: { 'Content-Type': 'application/json' },
          });
    expect([answer.status, answer.text.length < 2000]).toEqual([400, true]);
  });

  test
    .runIf(!onReference)
    .each([
      '0-2147483647',
      '0-4294967295',
      '0-99999999999999999999',
      '2147483648',
      '-1',
      '0-',
      '1-0',
      '0,'.repeat(100_000),
      Array.from({ length: 100_000 }, (_, index) => index).join(','),
    ])('class 25: the processor set %.20s is refused at once', async (set) => {
    for (const field of ['CpusetCpus', 'CpusetMems']) {
      const startedAt = performance.now();
      const answer = await engine.http.request('POST', '/containers/create', {
        body: { Image: 'busybox', HostConfig: { [field]: set } },
      });
      expect([field, answer.status]).toEqual([field, 400]);
      expect(performance.now() - startedAt).toBeLessThan(20_000);
    }
  });

  test.runIf(!onReference)(
    'class 25: hundreds of attached clients cost descriptors, and give them back',
    async () => {
      const id = await engine.start(['sh', '-c', 'while :; do echo tick; sleep 0.2; done']);
      await engine.logs(id);
      const before = descriptorCounts(engine.daemon);
      const streams: Hijacked[] = [];
      const slowest = await slowestPing(engine, async () => {
        for (let count = 0; count < 200 * LOOPS; count += 1) {
          streams.push(await engine.http.hijack(`/containers/${id}/attach?stream=1&stdout=1&stderr=1`));
        }
      });
      expect(slowest).toBeLessThan(20_000);
      await Promise.all(streams.slice(-10).map((stream) => stream.waitFor('tick')));
      streams.forEach((stream) => stream.socket.destroy());
      await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
    },
  );

  test.runIf(!onReference)(
    'class 25: clients that never finish their request keep nobody else out',
    async () => {
      // Whatever is there once and for all, such as this test's own idle connections, is there before.
      await slowestPing(engine, () => engine.run(['true']));
      const before = descriptorCounts(engine.daemon);
      const half = [
        'POST /containers/create HTTP/1.1\r\nHost: d\r\nConte',
        post('/volumes/create', 'Content-Length: 99\r\n\r\n{'),
        '',
      ];
      const sockets = Array.from({ length: 500 * LOOPS }, (_, index) => {
        const socket = connect(engine.daemon.paths.socket);
        socket.on('error', () => {
          // Only that the others are served counts.
        });
        socket.write(half[index % half.length] ?? '');
        return socket;
      });
      await until('the connections', () => sockets.every((socket) => !socket.connecting));
      expect(await slowestPing(engine, () => engine.run(['true']))).toBeLessThan(20_000);
      sockets.forEach((socket) => socket.destroy());
      await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
    },
  );

  test.runIf(!onReference)(
    'class 25: a thousand resizes of a terminal leave nothing',
    { timeout: 180_000 },
    async () => {
      const id = await engine.start(['sleep', '600'], {}, { Tty: true });
      const { Id } = await engine.http.ok<{ Id: string }>('POST', `/containers/${id}/exec`, {
        Cmd: ['sleep', '600'],
        Tty: true,
        AttachStdout: true,
      });
      const stream = await engine.http.hijack(`/exec/${Id}/start`, { body: { Tty: true } });
      const resize = async (count: number): Promise<void> => {
        for (let at = 0; at < count; at += 1) {
          const size = `h=${(at % 200) + 1}&w=${(at % 300) + 1}`;
          await engine.http.ok('POST', `/containers/${id}/resize?${size}`);
          await engine.http.ok('POST', `/exec/${Id}/resize?${size}`);
        }
      };
      await resize(20);
      const before = descriptorCounts(engine.daemon);
      const memory = residentBytes(engine.daemon.pid);
      await resize(1000 * LOOPS);
      await expect.poll(() => descriptorGrowth(before, engine.daemon)).toEqual({});
      expect(residentBytes(engine.daemon.pid) - memory).toBeLessThan(48 * MIB);
      for (const size of ['h=99999999999&w=1', 'h=-1&w=1', 'h=&w=']) {
        const { status } = await engine.http.request('POST', `/containers/${id}/resize?${size}`);
        expect([size, status]).toEqual([size, 400]);
      }
      stream.socket.destroy();
    },
  );
});

import { createServer as createHttp2 } from 'node:http2';
import http from 'node:http';
import { connect, createServer as createTcp, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { probe, type ProbeResult } from '../../../../daemon/cluster/targets/health/probe.ts';
import type { HealthCheck } from '../../../../daemon/cluster/targets/groups/target-group.ts';
import { openTargets, startTarget, type OpenTargets } from '../../../support/cluster/open-targets.ts';
import { until } from '../../../support/engine/http.ts';
import { WAIT_MS } from '../../../support/patience.ts';

const CHECK: HealthCheck = {
  enabled: true,
  protocol: 'HTTP',
  protocolVersion: 'HTTP1',
  path: '/live',
  matcher: { httpCode: '200-299' },
  healthCheckIntervalSeconds: 5,
  healthCheckTimeoutSeconds: 1,
  healthyThresholdCount: 2,
  unhealthyThresholdCount: 2,
};

const opened: { close(): void }[] = [];
afterEach(() => {
  opened.splice(0).forEach((one) => one.close());
});

/** A target that does with each connection as it likes. */
async function rawTarget(serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createTcp((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    serve(socket);
  });
  opened.push({
    close: () => {
      server.close();
      sockets.forEach((socket) => socket.destroy());
    },
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // It listens at an address.
  const { port } = server.address() as AddressInfo;
  return port;
}

/** The result of one check; `afterMs`: its time is over then. */
async function checked(
  port: number,
  check: Partial<HealthCheck> = {},
  afterMs = WAIT_MS,
): Promise<ProbeResult> {
  return await new Promise((resolve) => {
    const running = probe({ check: { ...CHECK, ...check }, host: '127.0.0.1', port }, (result) => {
      clearTimeout(timer);
      resolve(result);
    });
    const timer = setTimeout(() => running.expire(), afterMs);
  });
}

describe('a check', () => {
  test.each([
    ['of a right status passes', 'HTTP/1.1 204 No Content\r\n\r\n', undefined],
    [
      'passes past early hints',
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
      undefined,
    ],
    ['passes without words', 'HTTP/1.0 200\r\n\r\n', undefined],
    ['of another status fails', 'HTTP/1.1 302 Found\r\n\r\n', 'HealthCheckStatusMismatch'],
    ['of garbage fails', '\x00\x01SSH-2.0\r\n', 'HealthCheckInvalidResponse'],
    ['of a status that is none fails', 'HTTP/1.1 2000 OK\r\n\r\n', 'HealthCheckInvalidResponse'],
    ['of an empty answer fails', '', 'HealthCheckInvalidResponse'],
  ])('%s', async (_what, answer, expected) => {
    expect(await checked(await rawTarget((socket) => socket.once('data', () => socket.end(answer))))).toBe(
      expected,
    );
  });

  test('sends path and host, and one byte at a time is an answer too', async () => {
    let request = '';
    const port = await rawTarget((socket) => {
      socket.once('data', (piece) => {
        request = piece.toString();
        const text = 'HTTP/1.1 200 OK\r\n\r\n';
        text.split('').forEach((byte, index) => setTimeout(() => socket.write(byte), index));
      });
    });
    expect(await checked(port)).toBeUndefined();
    expect(request).toContain(`GET /live HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`);
  });

  test('of a target that hangs, or accepts nothing, ends', async () => {
    expect(await checked(await rawTarget(() => undefined), {}, 100)).toBe('HealthCheckTimeout');
    expect(await checked(1)).toBe('HealthCheckConnectionFailed');
  });

  test('of a target that answers without an end reads no more than it needs', async () => {
    let sent = 0;
    const flood = (start: string) => (socket: Socket) => {
      socket.write(start);
      const more = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536, 'x'))) {
          sent += 65_536;
        }
      };
      socket.on('drain', more);
      more();
    };
    expect(await checked(await rawTarget(flood('HTTP/1.1 200 OK\r\n\r\n')))).toBeUndefined();
    expect(await checked(await rawTarget(flood('HTTP/1.1 100 Continue\r\n')))).toBe(
      'HealthCheckInvalidResponse',
    );
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  test('of TCP passes where a connection is taken', async () => {
    expect(await checked(await rawTarget(() => undefined), { protocol: 'TCP' })).toBeUndefined();
    expect(await checked(1, { protocol: 'TCP' })).toBe('HealthCheckConnectionFailed');
  });

  test('of HTTP2', async () => {
    const server = createHttp2((req, res) => res.writeHead(req.url === '/live' ? 200 : 404).end());
    opened.push(server);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    // It listens at an address.
    const { port } = server.address() as AddressInfo;
    expect(await checked(port, { protocolVersion: 'HTTP2' })).toBeUndefined();
    expect(await checked(port, { protocolVersion: 'HTTP2', path: '/x' })).toBe('HealthCheckStatusMismatch');
    const other = await rawTarget((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    expect(await checked(other, { protocolVersion: 'HTTP2' })).not.toBeUndefined();
  });
});

/** A group of targets at these ports behind a listener; its port. */
async function served(
  open: OpenTargets,
  ports: readonly number[],
  healthCheck: object = {},
): Promise<number> {
  const config = { healthCheck: { healthCheckIntervalSeconds: 5, ...healthCheck } };
  const created = await open.ask('createTargetGroup', { body: { name: 'web', type: 'IP', config } });
  const group = String(created['id']);
  await until(
    'the group is active',
    async () => (await open.ask('getTargetGroup', { params: { group } }))['status'] === 'ACTIVE',
  );
  const targets = ports.map((port) => ({ id: '127.0.0.1', port }));
  await open.ask('registerTargets', { params: { group }, body: { targets } });
  const service = String((await open.ask('createService', { body: { name: 'shop' } }))['id']);
  const free = await rawTarget(() => undefined);
  opened.splice(0).forEach((one) => one.close());
  const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: group }] } };
  const body = { name: 'main', protocol: 'HTTP', port: free, defaultAction };
  await open.ask('createListener', { params: { service }, body });
  await open.targets.start();
  return free;
}

async function statuses(open: OpenTargets): Promise<string[]> {
  const { items } = await open.ask('listTargetGroups');
  const { items: targets } = await open.ask('listTargets', {
    params: { group: String(Object(items)[0].id) },
  });
  return (Array.isArray(targets) ? targets : []).map((target: unknown) => String(Object(target)['status']));
}

describe('traffic', () => {
  test('goes round healthy targets, with headers and body', async () => {
    await using a = await startTarget((req, res) => {
      res.setHeader('Set-Cookie', ['a=1', 'b=2']);
      req.pipe(res);
    });
    await using b = await startTarget((req, res) => {
      res.end(`b ${req.url} ${req.headers.host} ${String(req.headers['x-forwarded-for'])}`);
    });
    await using open = await openTargets();
    const port = await served(open, [a.port, b.port]);
    await until('they are healthy', async () => (await statuses(open)).join() === 'HEALTHY,HEALTHY');
    expect(open.news.map(({ health }) => health.status)).toEqual(['HEALTHY', 'HEALTHY']);
    const answers = new Map<string, Response>();
    for (let count = 0; count < 4; count += 1) {
      const body = 'x'.repeat(100_000);
      const answer = await fetch(`http://127.0.0.1:${port}/path?q=1`, { method: 'POST', body });
      const text = await answer.text();
      answers.set(text === body ? 'a' : text, answer);
    }
    expect([...answers.keys()].toSorted()).toEqual(['a', `b /path?q=1 127.0.0.1:${port} 127.0.0.1`]);
    expect(answers.get('a')?.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  test('goes round evenly, however often the records change between two requests', async () => {
    const targets = await Promise.all(
      ['a', 'b', 'c'].map((name) => startTarget((_req, res) => res.end(name))),
    );
    await using open = await openTargets();
    const ports = targets.map(({ port }) => port);
    const listener = await served(open, ports, { enabled: false });
    const { items } = await open.ask('listTargetGroups');
    const params = { resource: String(Object(items)[0].arn) };
    const counts = new Map<string, number>();
    for (let round = 0; round < 12; round += 1) {
      await open.ask('tagResource', { params, body: { tags: { round: `${round}` } } });
      const name = await (await fetch(`http://127.0.0.1:${listener}/`)).text();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    expect(Object.fromEntries(counts)).toEqual({ a: 4, b: 4, c: 4 });
    await Promise.all(targets.map((target) => target[Symbol.asyncDispose]()));
  });

  test('passes by a target that takes no connection, and one that breaks off is a 502', async () => {
    await using good = await startTarget((_req, res) => res.end('good'));
    await using open = await openTargets();
    const port = await served(open, [1, good.port], { enabled: false });
    expect(await statuses(open)).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    for (let count = 0; count < 4; count += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' });
      expect(await answer.text()).toBe('good');
    }
    good.server.removeAllListeners('request');
    good.server.on('request', (req) => req.socket.destroy());
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'x' })).status).toBe(502);
  });

  test('goes to all where none is healthy, and is 503 without targets', async () => {
    await using bad = await startTarget((req, res) => res.writeHead(req.url === '/' ? 500 : 200).end());
    await using open = await openTargets();
    const port = await served(open, [bad.port]);
    expect((await fetch(`http://127.0.0.1:${port}/a`)).status).toBe(200);
    const { items } = await open.ask('listTargetGroups');
    const params = { group: String(Object(items)[0].id) };
    await open.ask('deregisterTargets', { params, body: { targets: [{ id: '127.0.0.1', port: bad.port }] } });
    expect((await fetch(`http://127.0.0.1:${port}/a`)).status).toBe(503);
  });

  test('a target that drains finishes what it has, and is gone then', async () => {
    const waiting: http.ServerResponse[] = [];
    await using slow = await startTarget((_req, res) => waiting.push(res));
    await using open = await openTargets();
    const port = await served(open, [slow.port], { enabled: false });
    const request = fetch(`http://127.0.0.1:${port}/`);
    await until('the request is there', () => waiting.length > 0);
    const { items } = await open.ask('listTargetGroups');
    const params = { group: String(Object(items)[0].id) };
    await open.ask('deregisterTargets', {
      params,
      body: { targets: [{ id: '127.0.0.1', port: slow.port }] },
    });
    expect(await statuses(open)).toEqual(['DRAINING']);
    waiting[0]?.end('done');
    expect(await (await request).text()).toBe('done');
    await until('it is gone', async () => (await statuses(open)).length === 0);
  });

  test('a client that asks for another protocol is joined with a target', async () => {
    await using target = await startTarget((_req, res) => res.end());
    target.server.on('upgrade', (req, socket, head) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n${req.url}${head.toString()}`,
      );
      socket.pipe(socket);
    });
    await using open = await openTargets();
    const port = await served(open, [target.port], { enabled: false });
    const socket = connect(port, '127.0.0.1');
    socket.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello');
    let text = '';
    socket.on('data', (piece) => {
      text += piece.toString();
    });
    await until('the echo', () => text.endsWith('/wshello'));
    socket.destroy();
  });

  test('a function answers, and what is no answer is a 502', async () => {
    const events: string[] = [];
    const run = (image: string, event: string): Promise<string> => {
      events.push(event);
      return image === 'app/hello:1' && event.includes('hi')
        ? Promise.resolve('{"statusCode":201,"headers":{"x-a":"b"},"body":"hello"}')
        : Promise.resolve('Traceback');
    };
    await using open = await openTargets({ functions: { run } });
    const created = await open.ask('createTargetGroup', { body: { name: 'hello', type: 'LAMBDA' } });
    const group = String(created['id']);
    await until(
      'the group is active',
      async () => (await open.ask('getTargetGroup', { params: { group } }))['status'] === 'ACTIVE',
    );
    await open.ask('registerTargets', { params: { group }, body: { targets: [{ id: 'app/hello:1' }] } });
    const service = String((await open.ask('createService', { body: { name: 'shop' } }))['id']);
    const port = await rawTarget(() => undefined);
    opened.splice(0).forEach((one) => one.close());
    const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: group }] } };
    const body = { name: 'main', protocol: 'HTTP', port, defaultAction };
    await open.ask('createListener', { params: { service }, body });
    await open.targets.start();
    const answer = await fetch(`http://127.0.0.1:${port}/x`, { method: 'POST', body: 'hi' });
    expect([answer.status, answer.headers.get('x-a'), await answer.text()]).toEqual([201, 'b', 'hello']);
    expect(JSON.parse(events[0] ?? '')).toMatchObject({ raw_path: '/x', method: 'POST', body: 'hi' });
    expect((await fetch(`http://127.0.0.1:${port}/x`)).status).toBe(502);
  });

  test('nothing is lost while targets come and go under load', async () => {
    const targets = await Promise.all(
      Array.from({ length: 3 }, () =>
        startTarget((_req, res) => {
          setTimeout(() => res.end('ok'), Math.random() * 5);
        }),
      ),
    );
    await using open = await openTargets();
    const ports = targets.map(({ port }) => port);
    const listener = await served(open, ports, { enabled: false });
    const { items } = await open.ask('listTargetGroups');
    const params = { group: String(Object(items)[0].id) };
    const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
    const load = { isOver: false };
    const results = new Map<string, number>();
    const ask = (): Promise<string> =>
      new Promise((resolve) => {
        const request = http.get({ port: listener, host: '127.0.0.1', agent }, (answer) => {
          answer.resume();
          answer.once('end', () => resolve(String(answer.statusCode)));
        });
        request.once('error', (error) => resolve(error.message));
      });
    const clients = Array.from({ length: 16 }, async () => {
      while (!load.isOver) {
        const result = await ask();
        results.set(result, (results.get(result) ?? 0) + 1);
      }
    });
    const answered = (): number => [...results.values()].reduce((sum, count) => sum + count, 0);
    for (let round = 0; round < 9; round += 1) {
      const body = { targets: [{ id: '127.0.0.1', port: ports[round % 3] ?? 0 }] };
      await open.ask('deregisterTargets', { params, body });
      const goal = answered() + 12;
      do {
        await new Promise((resolve) => {
          setTimeout(resolve, 40);
        });
      } while (answered() < goal);
      await open.ask('registerTargets', { params, body });
    }
    load.isOver = true;
    await Promise.all(clients);
    agent.destroy();
    expect([...results.keys()]).toEqual(['200']);
    expect(results.get('200')).toBeGreaterThan(100);
    await Promise.all(targets.map((target) => target[Symbol.asyncDispose]()));
  });
});

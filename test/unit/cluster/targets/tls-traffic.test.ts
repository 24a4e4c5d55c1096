import * as grpc from '@grpc/grpc-js';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import http2, { type IncomingHttpHeaders } from 'node:http2';
import https from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { HealthCheck } from '../../../../daemon/cluster/targets/groups/target-group.ts';
import { probe, type ProbeResult } from '../../../../daemon/cluster/targets/health/probe.ts';
import { selfSigned } from '../../../support/cluster/certificate.ts';
import { openTargets, startTarget, type OpenTargets } from '../../../support/cluster/open-targets.ts';
import { until } from '../../../support/engine/http.ts';
import { freePort } from '../../../support/free-port.ts';

const listenerTls = selfSigned('listener');
const targetTls = selfSigned('target');
const CERT = { cert: targetTls.certificate, key: targetTls.key };

const opened: (() => void)[] = [];
afterEach(() => {
  opened.splice(0).forEach((close) => close());
});

/** Listens at a free port of this host until the test is over; the port. */
async function listening(server: Server): Promise<number> {
  const sockets = new Set<{ destroy(): unknown }>();
  server.on('connection', (socket) => sockets.add(socket));
  opened.push(() => {
    server.close();
    sockets.forEach((socket) => socket.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // It listens at an address.
  const { port } = server.address() as AddressInfo;
  return port;
}

interface Wanted {
  protocol: 'HTTP' | 'HTTPS' | 'TLS_PASSTHROUGH';
  config: object;
}

/** Targets at these ports behind a listener; its port. */
async function served(open: OpenTargets, ports: readonly number[], wanted: Wanted): Promise<number> {
  const body = { name: 'web', type: 'IP', config: wanted.config };
  const group = String((await open.ask('createTargetGroup', { body }))['id']);
  const params = { group };
  await until(
    'the group is active',
    async () => (await open.ask('getTargetGroup', { params }))['status'] === 'ACTIVE',
  );
  const targets = ports.map((port) => ({ id: '127.0.0.1', port }));
  await open.ask('registerTargets', { params, body: { targets } });
  const service = String((await open.ask('createService', { body: { name: 'shop' } }))['id']);
  const port = await freePort();
  const defaultAction = { forward: { targetGroups: [{ targetGroupIdentifier: group }] } };
  await open.ask('createListener', {
    params: { service },
    body: { name: 'main', protocol: wanted.protocol, port, defaultAction },
  });
  await open.targets.start();
  return port;
}

const UNCHECKED = { healthCheck: { enabled: false } };
const OF_HTTP2 = { ...UNCHECKED, protocolVersion: 'HTTP2' };

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  trailers: IncomingHttpHeaders;
  text: string;
  alpn: string | false | undefined;
}

/** One request by HTTP/2. */
async function askHttp2(port: number, headers: object, body?: string): Promise<Answer> {
  const session = http2.connect(`https://localhost:${port}`, {
    ca: listenerTls.certificate,
    lookup: (_name, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
  });
  try {
    return await new Promise((resolve, reject) => {
      session.once('error', reject);
      const stream = session.request({ ...headers }, { endStream: body === undefined });
      const answer: Answer = { status: 0, headers: {}, trailers: {}, text: '', alpn: undefined };
      stream.once('response', (found) => {
        Object.assign(answer, { status: found[':status'], headers: found, alpn: session.alpnProtocol });
      });
      stream.once('trailers', (trailers) => Object.assign(answer, { trailers }));
      stream.setEncoding('utf8').on('data', (piece: string) => {
        answer.text += piece;
      });
      stream.once('error', reject);
      stream.once('end', () => resolve(answer));
      stream.end(body);
    });
  } finally {
    session.close();
  }
}

/** One request by HTTP/1.1, over TLS where `ca` is given. */
async function askHttp1(port: number, options: https.RequestOptions & { isPlain?: boolean } = {}) {
  const { isPlain = false, ...rest } = options;
  return await new Promise<{ status: number; headers: object; trailers: object; text: string }>(
    (resolve, reject) => {
      const taken = (answer: IncomingMessage): void => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        answer.once('end', () => {
          const { statusCode: status = 0, headers, trailers } = answer;
          resolve({ status, headers, trailers, text });
        });
        answer.once('error', reject);
      };
      const all = { host: '127.0.0.1', port, ca: listenerTls.certificate, agent: false, ...rest };
      const plain = { host: '127.0.0.1', port, agent: false, path: rest.path };
      const request = isPlain ? requestHttp(plain, taken) : https.request(all, taken);
      request.once('error', reject);
      request.end();
    },
  );
}

describe('a listener of HTTPS', () => {
  test('ends TLS for clients of HTTP/1.1 and HTTP/2', async () => {
    await using target = await startTarget((req, res) => {
      res.setHeader('Set-Cookie', ['a=1', 'b=2']);
      const { host, cookie, 'x-forwarded-proto': proto, 'content-length': length } = req.headers;
      res.write(`${req.method} ${req.url} ${host} ${cookie} ${String(proto)} ${length} `);
      req.pipe(res);
    });
    await using open = await openTargets({ certificate: listenerTls });
    const port = await served(open, [target.port], { protocol: 'HTTPS', config: UNCHECKED });
    const headers = { ':method': 'POST', ':path': '/a?b=c', cookie: ['x=1', 'y=2'] };
    const modern = await askHttp2(port, headers, 'hello');
    expect(modern).toMatchObject({ status: 200, alpn: 'h2' });
    expect(modern.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(modern.text).toBe(`POST /a?b=c localhost:${port} x=1; y=2 https undefined hello`);
    const old = await askHttp1(port, { path: '/old' });
    expect(old).toMatchObject({ status: 200, headers: { 'set-cookie': ['a=1', 'b=2'] } });
    expect(old.text).toBe(`GET /old 127.0.0.1:${port} undefined https undefined `);
  });

  test('that is removed lets its clients go', async () => {
    await using target = await startTarget((_req, res) => res.end('ok'));
    await using open = await openTargets({ certificate: listenerTls });
    const port = await served(open, [target.port], { protocol: 'HTTPS', config: UNCHECKED });
    const session = http2.connect(`https://127.0.0.1:${port}`, { ca: listenerTls.certificate });
    let isClosed = false;
    session.once('close', () => {
      isClosed = true;
    });
    await new Promise((resolve) => {
      session.once('connect', resolve);
    });
    const agent = new https.Agent({ keepAlive: true, ca: listenerTls.certificate });
    opened.push(() => agent.destroy());
    await askHttp1(port, { agent });
    const kept = Object.values(agent.freeSockets).flat();
    expect(kept).toHaveLength(1);
    const [service] = [(await open.ask('listServices'))['items']].flat();
    const params = { service: String(Object(service)['id']) };
    const [listener] = [(await open.ask('listListeners', { params }))['items']].flat();
    await open.ask('deleteListener', { params: { ...params, listener: String(Object(listener)['id']) } });
    await until('the clients are gone', () => isClosed && kept[0]?.closed === true);
  });

  test('says 503 and 502 by HTTP/2 too', async () => {
    await using open = await openTargets({ certificate: listenerTls });
    const port = await served(open, [1], { protocol: 'HTTPS', config: UNCHECKED });
    expect(await askHttp2(port, { ':path': '/' })).toMatchObject({
      status: 502,
      text: 'no target takes the request\n',
    });
    const { items } = await open.ask('listTargetGroups');
    const params = { group: String(Object(items)[0].id) };
    await open.ask('deregisterTargets', { params, body: { targets: [{ id: '127.0.0.1', port: 1 }] } });
    expect(await askHttp2(port, { ':path': '/' })).toMatchObject({ status: 503 });
  });
});

describe('targets of HTTP2', () => {
  test.each([
    ['HTTP', http2.createServer()],
    ['HTTPS', http2.createSecureServer(CERT)],
  ] as const)(
    'over %s get requests of HTTP/1.1, one that takes no connection is passed by',
    async (protocol, server) => {
      server.on('request', (req: http2.Http2ServerRequest, res: http2.Http2ServerResponse) => {
        res.setHeader('set-cookie', ['a=1', 'b=2']);
        res.addTrailers({ 'x-sum': '5' });
        res.write(`${req.httpVersion} ${req.method} ${req.url} ${req.authority} `);
        req.pipe(res);
      });
      const good = await listening(server);
      await using open = await openTargets();
      const config = { ...OF_HTTP2, protocol };
      const port = await served(open, [1, good], { protocol: 'HTTP', config });
      for (let count = 0; count < 3; count += 1) {
        const body = 'x'.repeat(200_000);
        const answer = await fetch(`http://127.0.0.1:${port}/p?q`, { method: 'POST', body });
        expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
        expect(await answer.text()).toBe(`2.0 POST /p?q 127.0.0.1:${port} ${body}`);
      }
      expect(await askHttp1(port, { isPlain: true, path: '/t' })).toMatchObject({
        trailers: { 'x-sum': '5' },
      });
    },
  );

  test('that break off, refuse, or do not speak it', async () => {
    const server = http2.createServer();
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => sockets.add(socket));
    server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      if (headers[':path'] === '/half') {
        stream.respond({ ':status': 200 });
        stream.write('half');
        setTimeout(() => sockets.forEach((socket) => socket.destroy()), 50);
      } else if (headers[':path'] === '/refused') {
        stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
      } else {
        stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      }
    });
    const other = http2.createServer((_req, res) => res.end('other'));
    const [one, two] = [await listening(server), await listening(other)];
    await using open = await openTargets();
    const port = await served(open, [one, two], { protocol: 'HTTP', config: OF_HTTP2 });
    const texts = new Set<string>();
    // Both targets in turns: what the first refuses, the other answers.
    for (let count = 0; count < 2; count += 1) {
      texts.add(await (await fetch(`http://127.0.0.1:${port}/refused`)).text());
    }
    expect(texts).toEqual(new Set(['other']));
    const ends: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/half`);
      ends.push(await answer.text().catch(() => 'broken'));
    }
    expect(new Set(ends)).toEqual(new Set(['broken', 'other']));
    const statuses: number[] = [];
    for (let count = 0; count < 2; count += 1) {
      statuses.push((await fetch(`http://127.0.0.1:${port}/x`)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200, 502]));
  });

  test('that speak HTTP/1.1 alone are a 502', async () => {
    await using target = await startTarget((_req, res) => res.end('ok'));
    await using open = await openTargets();
    const port = await served(open, [target.port], { protocol: 'HTTP', config: OF_HTTP2 });
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(502);
  });
});

const askInCapitals: grpc.handleUnaryCall<Buffer, Buffer> = (call, answer) => {
  const trailers = new grpc.Metadata();
  trailers.set('x-user', String(call.metadata.get('user')[0]));
  if (call.request.length === 0) {
    answer({ code: grpc.status.NOT_FOUND, details: 'nothing there', metadata: trailers });
  } else {
    answer(null, Buffer.from(call.request.toString().toUpperCase()), trailers);
  }
};

const talkInCapitals: grpc.handleBidiStreamingCall<Buffer, Buffer> = (call) => {
  call.on('data', (piece: Buffer) => call.write(Buffer.from(piece.toString().toUpperCase())));
  call.on('end', () => call.end());
};

const bytes = (value: Buffer): Buffer => value;

describe('gRPC', () => {
  const codec = {
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
  const unary = { path: '/shop/Ask', requestStream: false, responseStream: false, ...codec };
  const bidi = { path: '/shop/Talk', requestStream: true, responseStream: true, ...codec };

  /** A server that answers in capitals, and refuses what is empty. */
  async function grpcTarget(): Promise<number> {
    const server = new grpc.Server();
    server.addService({ ask: unary, talk: bidi }, { ask: askInCapitals, talk: talkInCapitals });
    opened.push(() => server.forceShutdown());
    return await new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
  }

  test.each([
    ['HTTPS', grpc.credentials.createSsl(Buffer.from(listenerTls.certificate))],
    ['HTTP', grpc.credentials.createInsecure()],
  ] as const)(
    'goes through a listener of %s: calls, their errors and trailers, streams both ways',
    async (protocol, credentials) => {
      await using open = await openTargets({ certificate: listenerTls });
      const config = { ...UNCHECKED, protocolVersion: 'GRPC' };
      const port = await served(open, [await grpcTarget()], { protocol, config });
      const client = new grpc.Client(`127.0.0.1:${port}`, credentials);
      opened.push(() => client.close());
      const user = new grpc.Metadata();
      user.set('user', 'alice');
      const ask = (body: string) =>
        new Promise<unknown>((resolve) => {
          let trailers: grpc.Metadata | undefined;
          const call = client.makeUnaryRequest(
            '/shop/Ask',
            bytes,
            bytes,
            Buffer.from(body),
            user,
            (error, answer) =>
              setImmediate(() =>
                resolve([error?.code, error?.details, answer?.toString(), trailers?.get('x-user')]),
              ),
          );
          call.once('status', ({ metadata }) => {
            trailers = metadata;
          });
        });
      expect(await ask('hello')).toEqual([undefined, undefined, 'HELLO', ['alice']]);
      expect(await ask('')).toEqual([grpc.status.NOT_FOUND, 'nothing there', undefined, ['alice']]);
      const stream = client.makeBidiStreamRequest('/shop/Talk', bytes, bytes, user);
      const heard: string[] = [];
      stream.on('data', (piece: Buffer) => heard.push(piece.toString()));
      stream.write(Buffer.from('one'));
      // The answer comes before the request has ended.
      await until('the first answer', () => heard.length === 1);
      stream.write(Buffer.from('two'));
      stream.end();
      const status = await new Promise<grpc.StatusObject>((resolve) => {
        stream.once('status', resolve);
      });
      expect([heard, status.code]).toEqual([['ONE', 'TWO'], grpc.status.OK]);
    },
  );
});

test('a listener of TLS_PASSTHROUGH shows the certificate of its target', async () => {
  const target = https.createServer(CERT, (_req, res) => res.end('mine'));
  await using open = await openTargets();
  const config = { protocol: 'TCP', port: await listening(target), ...UNCHECKED };
  const port = await served(open, [config.port], { protocol: 'TLS_PASSTHROUGH', config });
  expect(await askHttp1(port, { ca: targetTls.certificate })).toMatchObject({ status: 200, text: 'mine' });
  await expect(askHttp1(port)).rejects.toThrow('self-signed certificate');
});

const statusOf = (url: string | undefined): number => Number(url?.slice(1));

async function checked(port: number, check: Partial<HealthCheck>): Promise<ProbeResult> {
  const all: HealthCheck = {
    enabled: true,
    protocol: 'HTTPS',
    protocolVersion: 'HTTP1',
    matcher: { httpCode: '200-204,301,500-503' },
    healthCheckIntervalSeconds: 5,
    healthCheckTimeoutSeconds: 5,
    healthyThresholdCount: 2,
    unhealthyThresholdCount: 2,
    ...check,
  };
  return await new Promise((resolve) => {
    probe({ check: all, host: '127.0.0.1', port }, resolve);
  });
}

describe('health checks over TLS', () => {
  const CODES = [200, 204, 205, 300, 301, 302, 404, 499, 500, 503, 504];
  const RIGHT = [200, 204, 301, 500, 503];

  test.each([
    ['HTTP1', https.createServer(CERT, (req, res) => res.writeHead(statusOf(req.url)).end())],
    ['HTTP2', http2.createSecureServer(CERT, (req, res) => res.writeHead(statusOf(req.url)).end())],
  ] as const)('of %s take the statuses of the matcher, and no others', async (protocolVersion, server) => {
    const port = await listening(server);
    const results = await Promise.all(
      CODES.map((code) => checked(port, { protocolVersion, path: `/${code}` })),
    );
    expect(CODES.filter((_code, index) => results[index] === undefined)).toEqual(RIGHT);
    expect(results.filter((result) => result === 'HealthCheckStatusMismatch')).toHaveLength(
      CODES.length - RIGHT.length,
    );
  });

  test.each([
    ['HTTP1', 'HealthCheckConnectionFailed'],
    ['HTTP2', 'HealthCheckInvalidResponse'],
  ] as const)('of %s fail where TLS is not spoken', async (protocolVersion, expected) => {
    await using target = await startTarget((_req, res) => res.end());
    expect(await checked(target.port, { protocolVersion, path: '/' })).toBe(expected);
  });

  test('decide about targets of HTTPS, and those of gRPC by HTTP2', async () => {
    const port = await listening(https.createServer(CERT, (_req, res) => res.writeHead(204).end()));
    const modern = await listening(http2.createServer((_req, res) => res.writeHead(200).end()));
    await using open = await openTargets();
    for (const [name, config] of [
      [
        'tls',
        { protocol: 'HTTPS', port, healthCheck: { protocol: 'HTTPS', matcher: { httpCode: '200-299' } } },
      ],
      [
        'calls',
        {
          protocolVersion: 'GRPC',
          port: modern,
          healthCheck: { enabled: true, protocolVersion: 'HTTP2', path: '/' },
        },
      ],
    ] as const) {
      const group = String(
        (await open.ask('createTargetGroup', { body: { name, type: 'IP', config } }))['id'],
      );
      await until(
        'the group is active',
        async () => (await open.ask('getTargetGroup', { params: { group } }))['status'] === 'ACTIVE',
      );
      await open.ask('registerTargets', { params: { group }, body: { targets: [{ id: '127.0.0.1' }] } });
    }
    await open.targets.start();
    await until('both are told', () => open.news.length === 2);
    const told = open.news.map(({ group, health }) => `${group.name} ${health.status}`);
    expect(new Set(told)).toEqual(new Set(['calls HEALTHY', 'tls HEALTHY']));
  });
});

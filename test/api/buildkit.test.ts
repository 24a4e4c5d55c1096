import http from 'node:http';
import { Duplex } from 'node:stream';
import grpc from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { bytesMessage, empty } from '../../api/buildkit/proto/common.ts';
import { listWorkersResponse, solveRequest, solveResponse } from '../../api/buildkit/proto/control.ts';
import { pongResponse } from '../../api/buildkit/proto/gateway.ts';
import { RpcClient } from '../../api/buildkit/rpc/client.ts';
import { serveRpc } from '../../api/buildkit/rpc/server.ts';
import { healthMethods } from '../../api/buildkit/services/health.ts';
import type { BuildkitPort, SolveRequest } from '../../api/types/build/ports.ts';
import { BuildError } from '../../daemon/base/build-error.ts';
import { silentLogger as log } from '../../daemon/base/logger.ts';
import { startServer, type TestServer } from '../support/api/api-server.ts';
import { fakePorts } from '../support/api/fake-ports.ts';

const CONTROL = '/moby.buildkit.v1.Control';
const { signal } = new AbortController();
const same = (bytes: Buffer): Buffer => bytes;

const start = (buildkit: Partial<BuildkitPort> = {}): Promise<TestServer> =>
  startServer(fakePorts({ buildkit }));

function upgrade(server: TestServer, path: string, headers: http.OutgoingHttpHeaders): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const request = http.request({
      socketPath: server.socketPath,
      method: 'POST',
      path,
      headers: { Connection: 'Upgrade', Upgrade: 'h2c', ...headers },
    });
    request.on('upgrade', ({ headers: answered }, socket, head) => {
      // What came with the answer already.
      socket.unshift(head);
      expect([answered.upgrade, answered['content-type']]).toEqual(['h2c', undefined]);
      resolve(socket);
    });
    request.on('response', ({ statusCode }) => reject(new Error(`status ${statusCode}`)));
    request.on('error', reject);
    request.end();
  });
}

test('gRPC: by HTTP/2 from the first byte, and by an upgrade with and without a version', async () => {
  await using server = await start();
  const direct = new grpc.Client(`unix:${server.socketPath}`, grpc.credentials.createInsecure());
  const answer = await new Promise<Buffer | undefined>((resolve, reject) => {
    direct.makeUnaryRequest(`${CONTROL}/ListWorkers`, same, same, Buffer.alloc(0), (error, bytes) =>
      error === null ? resolve(bytes) : reject(error),
    );
  });
  direct.close();
  const workers = listWorkersResponse.decode(answer ?? Buffer.alloc(0)).records;
  expect(workers.map(({ platforms }) => platforms)).toEqual([
    [{ os: 'linux', architecture: 'amd64', variant: '' }],
  ]);
  expect(workers.map(({ gcPolicy }) => gcPolicy)).toEqual([
    [
      {
        all: true,
        keepDuration: 172_800_000_000_000n,
        reservedSpace: 1,
        filters: ['type==regular,type==internal'],
        maxUsedSpace: 2 ** 40,
        minFreeSpace: 3,
      },
    ],
  ]);
  for (const path of ['/grpc', '/v1.43/grpc']) {
    const client = new RpcClient(await upgrade(server, path, {}), log);
    const again = await client.unary(`${CONTROL}/ListWorkers`, empty.encode({}), { signal });
    expect(listWorkersResponse.decode(again).records).toEqual(workers);
    client.destroy();
  }
});

test('gRPC: what is no HTTP at all is refused as before', async () => {
  await using server = await start();
  expect(await server.raw('PRI\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
  expect((await server.request('POST', '/grpc')).status).toBe(400);
});

test('Control: Solve hands on what newer and older clients ask; errors carry their place', async () => {
  const asked: SolveRequest[] = [];
  const place = { filename: 'Dockerfile', data: 'FROM x\n', line: 1, endLine: 2 };
  await using server = await start({
    solve: (request) => {
      asked.push(request);
      return request.frontend === ''
        ? Promise.resolve(new Map([['containerimage.digest', 'sha256:1']]))
        : Promise.reject(new BuildError('not_found', 'no such base', { source: place, vertex: 'sha256:2' }));
    },
  });
  const connection = new grpc.Client(`unix:${server.socketPath}`, grpc.credentials.createInsecure());
  const solve = (request: Parameters<typeof solveRequest.encode>[0]): Promise<Buffer | undefined> =>
    new Promise((resolve, reject) => {
      const bytes = solveRequest.encode(request);
      connection.makeUnaryRequest(`${CONTROL}/Solve`, same, same, bytes, (error, found) =>
        error === null ? resolve(found) : reject(error),
      );
    });
  const old = { ref: 'a', exporter: 'moby', exporterAttrs: new Map([['name', 'x']]) };
  const answer = await solve(old);
  expect(solveResponse.decode(answer ?? Buffer.alloc(0)).exporterResponse).toEqual(
    new Map([['containerimage.digest', 'sha256:1']]),
  );
  await solve({ ...old, exporters: [{ type: 'moby', attrs: new Map([['name', 'y']]) }] });
  expect(asked.map(({ exporters }) => exporters)).toEqual([
    [{ type: 'moby', attributes: new Map([['name', 'x']]) }],
    [{ type: 'moby', attributes: new Map([['name', 'y']]) }],
  ]);
  const error = await solve({ ref: 'b', frontend: 'dockerfile.v0' }).then(
    () => undefined,
    (reason: grpc.ServiceError) => reason,
  );
  // Clients print any other code in front of the text.
  expect([error?.code, error?.details]).toEqual([grpc.status.UNKNOWN, 'no such base']);
  const details = String(error?.metadata.get('grpc-status-details-bin')[0]);
  expect(details).toContain('github.com/moby/buildkit/errdefs.Source+json');
  // Clients look for each line, and for a definition of the source.
  expect(details).toContain(
    '"ranges":[{"start":{"line":1},"end":{"line":1}},{"start":{"line":2},"end":{"line":2}}]',
  );
  expect(details).toContain('"definition":{}');
  for (const [more, named] of [
    [{ compatibilityVersion: 30 }, 'compatibility-version 30'],
    [{ proxyNetwork: true }, 'proxy-network'],
  ] as const) {
    await expect(solve({ ...old, ...more })).rejects.toMatchObject({
      code: grpc.status.UNIMPLEMENTED,
      details: expect.stringContaining(named),
    });
  }
  expect(asked).toHaveLength(3);
  connection.close();
});

test('LLBBridge: Ping names the build; without one it is refused', async () => {
  const pinged: string[] = [];
  await using server = await start({
    ping: (ref) => {
      pinged.push(ref);
      return Promise.resolve();
    },
  });
  const client = new RpcClient(await upgrade(server, '/grpc', {}), log);
  const metadata = new Map([['buildkit-controlapi-buildid', ['one']]]);
  const path = '/moby.buildkit.v1.frontend.LLBBridge/Ping';
  const { frontend, workers } = pongResponse.decode(
    await client.unary(path, empty.encode({}), { signal, metadata }),
  );
  expect([frontend.some(({ id }) => id === 'return'), workers.length, pinged]).toEqual([true, 1, ['one']]);
  await expect(client.unary(path, empty.encode({}), { signal })).rejects.toMatchObject({
    code: 'invalid_argument',
  });
  client.destroy();
});

test('sessions: by an upgrade and within a call, we are the client; both end with their connection', async () => {
  const seen: string[] = [];
  let ended = 0;
  await using server = await start({
    attachSession: async (session) => {
      await session.check(signal);
      seen.push(`${session.id} ${session.sharedKey}`);
      await session.closed;
      ended += 1;
    },
  });
  const methods = new Map(healthMethods());
  const socket = await upgrade(server, '/session', {
    'X-Docker-Expose-Session-Uuid': 'first',
    'X-Docker-Expose-Session-Sharedkey': 'dir:node',
    'X-Docker-Expose-Session-Grpc-Method': ['/grpc.health.v1.Health/Check', '/a.B/C'],
  });
  const offered = serveRpc(socket, { methods, log });
  await expect.poll(() => seen).toEqual(['first dir:node']);
  offered.destroy();
  await expect.poll(() => ended).toBe(1);

  const client = new RpcClient(await upgrade(server, '/grpc', {}), log);
  const metadata = new Map([['x-docker-expose-session-uuid', ['second']]]);
  await using call = client.call(`${CONTROL}/Session`, { signal, metadata });
  const nested = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      // After the call's end nobody reads it.
      call.send(bytesMessage.encode({ data: chunk })).catch(() => undefined /* see above */);
      done();
    },
  });
  const within = serveRpc(nested, { methods, log });
  const receive = async (): Promise<void> => {
    for await (const messages of call.batches) {
      messages.forEach((message) => nested.push(bytesMessage.decode(message).data));
    }
  };
  const received = receive().catch((error: unknown) => error);
  await expect.poll(() => seen).toEqual(['first dir:node', 'second ']);
  client.destroy();
  await expect.poll(() => ended).toBe(2);
  await received;
  within.destroy();
});

test('version=2: progress as traces, then the image', async () => {
  await using server = await start();
  const { status, body } = await server.request(
    'POST',
    '/build?version=2&remote=client-session&session=s&buildid=b',
  );
  const lines = body.trim().split('\n');
  expect([status, lines.map((line) => (JSON.parse(line) as { id: string }).id)]).toEqual([
    200,
    ['moby.buildkit.trace', 'moby.image.id'],
  ]);
  const quiet = await server.request(
    'POST',
    '/build?version=2&remote=client-session&session=s&buildid=b&q=1',
  );
  const [image = '', text = ''] = quiet.body.trim().split('\n').slice(-2);
  const { aux } = JSON.parse(image) as { aux: { ID: string } };
  expect(JSON.parse(text)).toEqual({ stream: `${aux.ID}\n` });
  expect((await server.request('POST', '/build/cancel?id=b')).status).toBe(204);
});

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RpcClient } from '../../../api/buildkit/rpc/client.ts';
import { serveRpc, type RpcMethod, type RpcServer } from '../../../api/buildkit/rpc/server.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { silentLogger as log } from '../../../daemon/base/logger.ts';

/** The other implementation is grpc-js: as client of our server, and as server of our client. */
const same = (bytes: Buffer): Buffer => bytes;
const MANY = 2000;
const folder = mkdtempSync(path.join(tmpdir(), 'berth-test-rpc-'));
const socketPath = path.join(folder, 'ours.sock');
const theirPath = path.join(folder, 'theirs.sock');
const sockets = new Set<Socket>();
/** Why calls that wait were ended. */
const ended: unknown[] = [];
let connections: RpcServer[] = [];

const untilEnd = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      ended.push((signal.reason as EngineError).code);
      reject(signal.reason as Error);
    });
  });

const methods = new Map<string, RpcMethod>([
  [
    '/test.Our/Echo',
    async ({ messages, send }) => {
      for await (const message of messages) {
        await send(message);
      }
    },
  ],
  [
    '/test.Our/Many',
    async ({ send }) => {
      for (let index = 0; index < MANY; index += 1) {
        await send(Buffer.alloc(4096, index % 256));
      }
    },
  ],
  ['/test.Our/Metadata', async ({ metadata, send }) => send(Buffer.from(JSON.stringify([...metadata])))],
  ['/test.Our/Fails', () => Promise.reject(new EngineError('not_found', 'no such thing: größer, 100%\n'))],
  [
    '/test.Our/FailsLate',
    async ({ send }) => {
      await send(Buffer.from('first'));
      throw new EngineError('failed_precondition', 'then not');
    },
  ],
  ['/test.Our/Waits', ({ signal }) => untilEnd(signal)],
]);

let listener: Server;
let client: grpc.Client;
const theirs = new grpc.Server();
let theirCancelled = 0;

beforeAll(async () => {
  listener = createServer((socket) => {
    sockets.add(socket);
    connections.push(serveRpc(socket, { methods, log }));
  });
  listener.listen(socketPath);
  await once(listener, 'listening');
  client = new grpc.Client(`unix:${socketPath}`, grpc.credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  const service = { Echo: method('Echo', true), Twice: method('Twice', false), Waits: method('Waits', true) };
  theirs.addService(service, {
    Echo: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', (message: Buffer) => call.write(message));
      call.on('end', () => call.end());
    },
    Twice: (
      { request, metadata }: grpc.ServerUnaryCall<Buffer, Buffer>,
      done: grpc.sendUnaryData<Buffer>,
    ) => {
      if (request.length === 0) {
        done({ code: grpc.status.PERMISSION_DENIED, details: 'nothing at all: größer, 100%' });
      } else {
        done(null, Buffer.concat([request, request, Buffer.from(metadata.get('name').join('|'))]));
      }
    },
    Waits: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
      call.on('cancelled', () => {
        theirCancelled += 1;
      });
    },
  });
  await new Promise<void>((resolve, reject) => {
    theirs.bindAsync(`unix:${theirPath}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
});

afterAll(() => {
  client.close();
  theirs.forceShutdown();
  connections.forEach((connection) => connection.destroy());
  connections = [];
  sockets.forEach((socket) => socket.destroy());
  listener.close();
  rmSync(folder, { recursive: true });
});

function method(name: string, stream: boolean): grpc.MethodDefinition<Buffer, Buffer> {
  return {
    path: `/test.Their/${name}`,
    requestStream: stream,
    responseStream: stream,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
}

function ask(name: string, request: Buffer, metadata = new grpc.Metadata()): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(`/test.Our/${name}`, same, same, request, metadata, (error, answer) =>
      error === null ? resolve(answer) : reject(error),
    );
  });
}

async function ours(to = theirPath): Promise<RpcClient> {
  const socket = connect(to);
  sockets.add(socket);
  await once(socket, 'connect');
  return new RpcClient(socket, log);
}

const signal = new AbortController().signal;

test('our server: messages of any size come back, both ways at once', async () => {
  const sizes = [0, 1, 5, 16_379, 70_000, 5_000_000];
  const call = client.makeBidiStreamRequest('/test.Our/Echo', same, same);
  const answers: number[] = [];
  call.on('data', (message: Buffer) => answers.push(message.length));
  sizes.forEach((size) => call.write(Buffer.alloc(size, 7)));
  call.end();
  await once(call, 'end');
  expect(answers).toEqual(sizes);
});

test('our server: many messages to a client that reads slowly all come, in order', async () => {
  const call = client.makeServerStreamRequest('/test.Our/Many', same, same, Buffer.alloc(0));
  const seen: number[] = [];
  for await (const message of call as AsyncIterable<Buffer>) {
    seen.push(message[0] ?? -1);
  }
  expect(seen).toEqual(Array.from({ length: MANY }, (_value, index) => index % 256));
});

test('our server: repeated metadata with commas keep apart', async () => {
  const metadata = new grpc.Metadata();
  metadata.add('followpaths', 'a,b');
  metadata.add('followpaths', 'c, d');
  metadata.add('dir-name', 'context');
  const answer = await ask('Metadata', Buffer.alloc(0), metadata);
  const found = new Map(JSON.parse(String(answer)) as [string, string[]][]);
  expect(found.get('followpaths')).toEqual(['a,b', 'c, d']);
  expect(found.get('dir-name')).toEqual(['context']);
});

test('our server: errors have their status and text, before and after messages', async () => {
  await expect(ask('Fails', Buffer.alloc(0))).rejects.toMatchObject({
    code: grpc.status.NOT_FOUND,
    details: 'no such thing: größer, 100%\n',
  });
  await expect(ask('Nothing', Buffer.alloc(0))).rejects.toMatchObject({
    code: grpc.status.UNIMPLEMENTED,
    details: 'unknown method /test.Our/Nothing',
  });
  const call = client.makeServerStreamRequest('/test.Our/FailsLate', same, same, Buffer.alloc(0));
  const seen: string[] = [];
  call.on('data', (message: Buffer) => seen.push(String(message)));
  const [error] = (await once(call, 'error')) as [grpc.ServiceError];
  expect([seen, error.code, error.details]).toEqual([['first'], grpc.status.FAILED_PRECONDITION, 'then not']);
});

test('our server: a deadline that is over and a client that gives up end the method', async () => {
  // By hand: a deadline of the client's own may be over before the server has heard of the call.
  const metadata = new grpc.Metadata();
  metadata.set('grpc-timeout', '50m');
  const late = client.makeServerStreamRequest('/test.Our/Waits', same, same, Buffer.alloc(0), metadata);
  const [error] = (await once(late, 'error')) as [grpc.ServiceError];
  expect(error.code).toBe(grpc.status.DEADLINE_EXCEEDED);
  await expect.poll(() => ended.length).toBe(1);
  const call = client.makeServerStreamRequest('/test.Our/Waits', same, same, Buffer.alloc(0));
  call.on('error', () => undefined);
  call.resume();
  await ask('Metadata', Buffer.alloc(0));
  call.cancel();
  await expect.poll(() => ended.at(-1)).toBe('canceled');
});

test('our server: a message that is too large is refused by its size, before it has come', async () => {
  const request = Buffer.alloc(limits.rpcMessageBytesMax + 1);
  await expect(ask('Echo', request)).rejects.toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED });
  expect(await ask('Echo', Buffer.from('still here'))).toEqual(Buffer.from('still here'));
});

test('our client: asks, with metadata; a status is an error with the method before it', async () => {
  const own = await ours();
  const metadata = new Map([['name', ['a,b']]]);
  const answer = await own.unary('/test.Their/Twice', Buffer.from('xy'), { signal, metadata });
  expect(String(answer)).toBe('xyxya,b');
  await expect(own.unary('/test.Their/Twice', Buffer.alloc(0), { signal })).rejects.toMatchObject({
    code: 'forbidden',
    message: 'Their/Twice: nothing at all: größer, 100%',
  });
  await expect(own.unary('/test.Their/Nothing', Buffer.alloc(0), { signal })).rejects.toMatchObject({
    code: 'not_implemented',
  });
  own.destroy();
  await own.closed;
});

test('our client: talks, and gives up by its signal and by its time', async () => {
  const own = await ours();
  await using call = own.call('/test.Their/Echo', { signal });
  const sizes = [0, 70_000, 3];
  for (const size of sizes) {
    await call.send(Buffer.alloc(size));
  }
  call.end();
  const answers: number[] = [];
  for await (const messages of call.batches) {
    answers.push(...messages.map(({ length }) => length));
  }
  expect(answers).toEqual(sizes);

  const stop = new AbortController();
  const read = async (options: { signal: AbortSignal; timeoutMs?: number }): Promise<void> => {
    await using waiting = own.call('/test.Their/Waits', options);
    await waiting.send(Buffer.from('x'));
    for await (const messages of waiting.batches) {
      throw new Error(`an answer: ${messages.length} messages`);
    }
  };
  await expect(read({ signal, timeoutMs: 50 })).rejects.toMatchObject({ code: 'deadline_exceeded' });
  const canceled = read({ signal: stop.signal });
  stop.abort(new EngineError('canceled', 'enough'));
  await expect(canceled).rejects.toMatchObject({ code: 'canceled', message: 'enough' });
  await expect.poll(() => theirCancelled).toBe(2);
  own.destroy();
  await expect(read({ signal })).rejects.toMatchObject({ code: 'unavailable' });
});

test('our client: repeated metadata are headers of their own', async () => {
  const own = await ours(socketPath);
  const metadata = new Map([['exclude-patterns', ['*.{a,b}', '!c, d']]]);
  const answer = await own.unary('/test.Our/Metadata', Buffer.alloc(0), { signal, metadata });
  expect(JSON.parse(String(answer))).toEqual([...metadata]);
  own.destroy();
});

import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { RpcClient } from '../../../api/buildkit/rpc/client.ts';
import { silentLogger as log } from '../../../daemon/base/logger.ts';

/** Of RFC 9113. */
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const END_STREAM = 1;
const END_HEADERS = 4;
/** `:status: 200` of HPACK's static table. */
const STATUS_200 = Buffer.from([0x88]);

const frame = (type: number, flags: number, id: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
};
/** A header that is not kept in a table. */
const header = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);

test('a peer that answers before it was told all, and wants no more, is heard', async () => {
  const connection = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const client = new RpcClient(connection, log);
  const call = client.call('/test.Their/Early', { signal: new AbortController().signal });
  const answered = (async () => {
    for await (const _messages of call.batches);
  })();
  // As Go's server does it: headers, and in one piece the trailers and a reset without an error. All of it within
  // microtasks, as bytes come that are messages of another call.
  connection.push(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
  const content = header('content-type', 'application/grpc');
  connection.push(frame(HEADERS, END_HEADERS, 1, Buffer.concat([STATUS_200, content])));
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const trailers = Buffer.concat([header('grpc-status', '5'), header('grpc-message', 'no such directory')]);
  connection.push(
    Buffer.concat([
      frame(HEADERS, END_HEADERS | END_STREAM, 1, trailers),
      frame(RST_STREAM, 0, 1, Buffer.alloc(4)),
    ]),
  );
  await expect(answered).rejects.toThrow('Their/Early: no such directory');
  client.destroy();
});

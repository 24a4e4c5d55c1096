import { once } from 'node:events';
import http2 from 'node:http2';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RpcClient } from '../../../api/buildkit/rpc/client.ts';
import { serveRpc } from '../../../api/buildkit/rpc/server.ts';
import { silentLogger as log } from '../../../daemon/base/logger.ts';
import { BROKEN, PREFACE, raw, SETTINGS } from '../../support/buildkit/frames.ts';
import { WAIT_MS } from '../../support/patience.ts';

/** With empty settings. */
const BEGINNING = Buffer.concat([PREFACE, raw(SETTINGS)]);

/** A connection as node:http makes it for its server, and the client's end of it. */
async function connected(): Promise<{ client: Socket; socket: Socket }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-test-rpc-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const listener = createServer({ allowHalfOpen: true });
  onTestFinished(() => void listener.close());
  listener.listen(path.join(folder, 'socket'));
  await once(listener, 'listening');
  const client = connect(path.join(folder, 'socket'));
  onTestFinished(() => void client.destroy());
  const [socket] = await once(listener, 'connection');
  return { client, socket };
}

test.each([
  ['a session', (socket: Socket) => new RpcClient(socket, log)],
  ['a connection of calls', (socket: Socket) => serveRpc(socket, { methods: new Map(), log })],
])(
  '%s is over as soon as its client is gone, on a connection of an HTTP/1 server',
  async (_what, use) => {
    const { client, socket } = await connected();
    const { closed } = use(socket);
    client.write(BEGINNING);
    client.destroy();
    await expect(closed).resolves.toBeUndefined();
  },
  // Pings would find it out, too, but only after a minute and a half.
  WAIT_MS,
);

test('a connection whose client answers no ping is over, one whose client does is not', async () => {
  const silent = await connected();
  const gone = serveRpc(silent.socket, { methods: new Map(), log, pingMs: 20 });
  silent.client.write(BEGINNING);
  const alive = await connected();
  const there = serveRpc(alive.socket, { methods: new Map(), log, pingMs: 500 });
  let isOver = false;
  void there.closed.then(() => (isOver = true));
  const client = http2.connect('http://localhost', { createConnection: () => alive.client });
  onTestFinished(() => client.destroy());
  await expect(gone.closed).resolves.toBeUndefined();
  for (let pings = 0; pings < 3; pings += 1) {
    await once(client, 'ping');
  }
  expect(isOver).toBe(false);
});

test.each(Object.keys(BROKEN))('%s: the connection of calls is over', async (name) => {
  const { client, socket } = await connected();
  client.on('error', () => undefined /* it may be reset */).resume();
  const { closed } = serveRpc(socket, { methods: new Map(), log, pingMs: 20 });
  client.write(Buffer.concat([BEGINNING, BROKEN[name] ?? PREFACE]));
  await expect(closed).resolves.toBeUndefined();
});

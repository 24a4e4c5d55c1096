import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RpcClient } from '../../../api/buildkit/rpc/client.ts';
import { serveRpc } from '../../../api/buildkit/rpc/server.ts';
import { silentLogger as log } from '../../../daemon/base/logger.ts';

/** What a client of HTTP/2 begins with, and empty settings. */
const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

test.each([
  ['a session', (socket: Socket) => new RpcClient(socket, log)],
  ['a connection of calls', (socket: Socket) => serveRpc(socket, { methods: new Map(), log })],
])(
  '%s is over as soon as its client is gone, on a connection of an HTTP/1 server',
  async (_what, use) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'berth-test-rpc-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    // As node:http makes its server.
    const listener = createServer({ allowHalfOpen: true });
    onTestFinished(() => void listener.close());
    listener.listen(path.join(folder, 'socket'));
    await once(listener, 'listening');
    const client = connect(path.join(folder, 'socket'));
    const [socket] = await once(listener, 'connection');
    const { closed } = use(socket);
    client.write(PREFACE);
    client.destroy();
    await expect(closed).resolves.toBeUndefined();
  },
  5_000,
);

import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StreamConnection } from '../../../../runtime/log-drivers/stream-connection.ts';

const ROUNDS = 15;
/** As in stream-connection.ts. */
const DRAIN_POLL_MS = 2;

let folder: string;
let server: Server;
let peers: Socket[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'berth-stream-'));
  peers = [];
  server = createServer({ pauseOnConnect: true }, (peer) => peers.push(peer));
});

afterEach(() => {
  peers.forEach((peer) => peer.destroy());
  server.close();
  rmSync(folder, { recursive: true });
});

/** To a receiver on a Unix socket, or on a port of its own. */
async function connected(socketPath?: string): Promise<StreamConnection> {
  server.close();
  server.listen(socketPath === undefined ? { host: '127.0.0.1', port: 0 } : { path: socketPath });
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const connection = new StreamConnection(() =>
    socketPath === undefined ? createConnection({ host: '127.0.0.1', port }) : createConnection(socketPath),
  );
  const accepted = once(server, 'connection');
  await connection.open();
  await accepted;
  return connection;
}

test('what a receiver has not read when it ends is not taken for delivered, whoever hears of it first', async () => {
  const ends: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const connection = await connected(path.join(folder, `receiver${round}`));
    const written = connection.write(Buffer.from('a line\n')).then(
      () => 'delivered',
      (error: Error) => error.message,
    );
    // Timers of the looks at what is unsent, and these, run in one turn: Node cannot hear of the end in between.
    const end = (ticks: number): void => {
      setTimeout(
        () => (ticks === 0 ? peers.forEach((peer) => peer.destroy()) : end(ticks - 1)),
        DRAIN_POLL_MS,
      );
    };
    end(5 + round);
    ends.push(await written);
  }
  expect(new Set(ends)).toEqual(new Set(['connection closed by the receiver']));
});

test.each(['Unix', 'TCP'])('what a receiver has read is delivered: %s', async (kind) => {
  const connection = await connected(kind === 'Unix' ? path.join(folder, 'receiver') : undefined);
  peers.forEach((peer) => peer.resume());
  await connection.write(Buffer.from('a line\n'));
  connection.close();
});

/** Targets in a process of their own: `target-server.ts COUNT`, prints their ports as JSON, ends with its input. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const count = Number(process.argv[2]);
const body = Buffer.alloc(256, 'x');
const ports = await Promise.all(
  Array.from(
    { length: count },
    () =>
      new Promise<number>((resolve) => {
        const server = createServer((_req, res) => res.end(body));
        server.keepAliveTimeout = 0;
        server.listen(0, '127.0.0.1', () => {
          // It listens at an address.
          const { port } = server.address() as AddressInfo;
          resolve(port);
        });
      }),
  ),
);
process.stdout.write(`${JSON.stringify(ports)}\n`);
process.stdin.resume().once('end', () => process.exit(0));

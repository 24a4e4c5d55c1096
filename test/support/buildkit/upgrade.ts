import http from 'node:http';
import type { Duplex } from 'node:stream';

/** A connection of the engine's socket, as BuildKit's clients get it for `/grpc` and `/session`. */
export function upgrade(
  socketPath: string,
  path: string,
  headers: http.OutgoingHttpHeaders = {},
): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const request = http.request({
      socketPath,
      method: 'POST',
      path,
      headers: { Connection: 'Upgrade', Upgrade: 'h2c', ...headers },
    });
    request.on('upgrade', (_answer, socket, head) => {
      socket.unshift(head);
      resolve(socket);
    });
    request.on('response', ({ statusCode }) => reject(new Error(`status ${statusCode}`)));
    request.on('error', reject);
    request.end();
  });
}

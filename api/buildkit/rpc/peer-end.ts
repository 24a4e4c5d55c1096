import type { Duplex } from 'node:stream';

/**
 * Closes a connection whose peer has ended its side: it asks and answers nothing any more. HTTP/1 servers, whose
 * connections become these, leave our side open, and node:http2 does not look.
 */
export function closeWithPeer(connection: Duplex): void {
  connection.once('end', () => connection.destroy());
}

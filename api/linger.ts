import type { Duplex } from 'node:stream';
import { limits } from '../daemon/base/limits.ts';

/**
 * Ends our side and closes the connection a moment later, unless the client does. What the client is still sending is
 * read and dropped meanwhile: a connection closed on unread data breaks the client's pipe, and the client may never see
 * the answer.
 */
export function closeLingering(socket: Duplex): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), limits.lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

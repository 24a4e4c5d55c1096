import type { Duplex } from 'node:stream';
import { limits } from '../daemon/base/limits.ts';

/**
 * Ends our side and closes the connection a moment later, unless the client does. What he is still sending is taken and
 * dropped meanwhile: closed on unread data, a client that writes hears of a broken pipe and may never see the answer.
 */
export function closeLingering(socket: Duplex): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), limits.lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

import type { Duplex } from 'node:stream';
import { errnoOf } from '../daemon/base/errors.ts';
import { limits } from '../daemon/base/limits.ts';

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/**
 * Answers what is no request, for the server's `clientError`, and closes. What the client is still sending is taken and
 * dropped for a moment: closed on unread data, a client that writes hears of a broken pipe and never of the answer.
 */
export function refuseBrokenRequest(error: Error, socket: Duplex): void {
  if (socket.writableEnded) {
    // More of the same, on its way to nowhere.
    return;
  }
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const status = STATUS[errnoOf(error) ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  const timer = setTimeout(() => socket.destroy(), limits.brokenRequestLingerMs);
  socket.once('close', () => clearTimeout(timer));
}

/** An answer to an earlier request is going out: another one in its middle would be read as part of it. */
function isAnswering(socket: Duplex): boolean {
  return '_httpMessage' in socket && socket._httpMessage !== null && socket._httpMessage !== undefined;
}

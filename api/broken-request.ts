import type { Duplex } from 'node:stream';
import { errnoOf } from '../daemon/base/errors.ts';
import { closeLingering } from './linger.ts';

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Answers bytes that are no HTTP request, for the server's `clientError`, and closes. */
export function refuseBrokenRequest(error: Error, socket: Duplex): void {
  if (socket.writableEnded) {
    // More bytes of the same broken request: it was answered already.
    return;
  }
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const status = STATUS[errnoOf(error) ?? ''] ?? '400 Bad Request';
  socket.write(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  closeLingering(socket);
}

/** An answer to an earlier request is going out: another one in its middle would be read as part of it. */
function isAnswering(socket: Duplex): boolean {
  return '_httpMessage' in socket && socket._httpMessage !== null && socket._httpMessage !== undefined;
}

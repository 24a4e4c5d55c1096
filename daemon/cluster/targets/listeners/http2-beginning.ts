import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { targetLimits } from '../limits.ts';

/** The beginning of HTTP/2 (RFC 9113, 3.4); no method of HTTP/1.1 is named so. */
const PREFACE = 'PRI ';

/**
 * Looks whether a client begins with HTTP/2. `decided` is told once, with all that has been read put back; a client
 * that says nothing in `idleMs` is let go.
 */
export function beginsHttp2(socket: Socket, decided: (isHttp2: boolean) => void): void {
  let text = Buffer.alloc(0);
  const give = (): void => {
    socket.destroy();
  };
  const decide = (isHttp2: boolean): void => {
    socket.off('readable', look).off('end', end).off('error', give).off('timeout', give);
    socket.setTimeout(0);
    if (text.length > 0) {
      socket.unshift(text);
    }
    decided(isHttp2);
  };
  const look = (): void => {
    for (let piece: Buffer | null = read(socket); piece !== null; piece = read(socket)) {
      text = Buffer.concat([text, piece]);
    }
    const start = text.toString('latin1', 0, PREFACE.length);
    if (start === PREFACE || !PREFACE.startsWith(start)) {
      decide(start === PREFACE);
    }
  };
  // Of a client that ends before it has said enough nothing is to be had.
  const end = give;
  socket.on('readable', look).once('end', end).on('error', give);
  socket.setTimeout(targetLimits.idleMs, give);
}

/** A socket without an encoding gives buffers. */
function read(socket: Socket): Buffer | null {
  const piece: unknown = socket.read();
  return Buffer.isBuffer(piece) ? piece : null;
}

/** Whether a request of HTTP/1.1 offers to go on by HTTP/2, as `curl --http2` does; RFC 9113 has it no more. */
export function isOfferOfHttp2({ headers }: IncomingMessage): boolean {
  const offers = (headers.upgrade ?? '').toLowerCase().split(',');
  return offers.every((offer) => offer.trim() === 'h2c');
}

/** Such a request as it is without the offer, to the end of its headers. */
export function withoutOffer({ method, url, httpVersion, rawHeaders, headers }: IncomingMessage): Buffer {
  const kept = (headers.connection ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !['upgrade', 'http2-settings', ''].includes(name.toLowerCase()));
  const lines = [`${method ?? 'GET'} ${url ?? '/'} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!['upgrade', 'http2-settings', 'connection'].includes(name.toLowerCase())) {
      lines.push(`${name}: ${rawHeaders[index + 1] ?? ''}`);
    }
  }
  if (kept.length > 0) {
    lines.push(`Connection: ${kept.join(', ')}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';

/** A request at a listener, by HTTP/1.1 or HTTP/2. */
export type ClientRequest = IncomingMessage | Http2ServerRequest;

/** Its answer. */
export type ClientResponse = ServerResponse | Http2ServerResponse;

/** Sends status and headers, names and values in turns; of HTTP/2 what it has no place for is left out. */
export function beginAnswer(
  res: ClientResponse,
  status: number,
  headers: readonly string[],
  text = '',
): void {
  if (res instanceof ServerResponse) {
    // Without words the status has its own.
    if (text === '') {
      res.writeHead(status, [...headers]);
    } else {
      res.writeHead(status, text, [...headers]);
    }
    return;
  }
  setHead(res, status, headers);
  res.writeHead(status);
}

/** The whole answer is status and headers: HTTP/2 says so in one frame, which gRPC clients take for a refused call. */
export function answerWithoutBody(res: ClientResponse, status: number, headers: readonly string[]): void {
  if (res instanceof ServerResponse) {
    res.writeHead(status, [...headers]);
  } else {
    setHead(res, status, headers);
  }
  res.end();
}

function setHead(res: Http2ServerResponse, status: number, headers: readonly string[]): void {
  const named = new Map<string, string[]>();
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase();
    if (name !== 'connection') {
      named.set(name, [...(named.get(name) ?? []), headers[index + 1] ?? '']);
    }
  }
  res.statusCode = status;
  named.forEach((values, name) => {
    const [first = ''] = values;
    res.setHeader(name, values.length === 1 ? first : values);
  });
}

/** Answers in the place of a target. */
export function refuse(res: ClientResponse, status: number, text: string): void {
  if (res.headersSent) {
    breakOff(res);
    return;
  }
  const body = `${text}\n`;
  const type = ['Content-Type', 'text/plain; charset=utf-8'];
  beginAnswer(res, status, [...type, 'Content-Length', `${Buffer.byteLength(body)}`, 'Connection', 'close']);
  res.end(body);
}

/** Ends an answer in a way that the client cannot take for its end. */
export function breakOff(res: ClientResponse): void {
  if (res instanceof ServerResponse) {
    res.destroy();
  } else {
    res.stream.close(INTERNAL_ERROR);
  }
}

/** Of RFC 9113, 7. */
const INTERNAL_ERROR = 0x2;

/** Whether something follows the headers of a request. */
export function hasBody(req: ClientRequest): boolean {
  return 'stream' in req
    ? !req.stream.endAfterHeaders
    : req.headers['transfer-encoding'] !== undefined || (req.headers['content-length'] ?? '0') !== '0';
}

/** The address of a client; one of IPv4 as such, also where the listener takes both kinds. */
export function clientAddress(req: ClientRequest): string {
  return (req.socket.remoteAddress ?? '').replace(/^::ffff:(?=[0-9.]+$)/, '');
}

import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { clientAddress, hasBody, type ClientRequest } from './client-side.ts';

/** Of one connection only (RFC 9110, 7.6.1), and what this side has answered itself. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);
const FORWARDED = new Set(['x-forwarded-for', 'x-forwarded-port', 'x-forwarded-proto']);

/** Headers of a request for a target of HTTP1: names and values in turns, the client's address added. */
export function requestHeaders(req: ClientRequest): string[] {
  const headers = endToEnd(req);
  const isFramed =
    req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
  if (!isFramed && hasBody(req)) {
    // HTTP/2 needs no length.
    headers.push('Transfer-Encoding', 'chunked');
  } else if (!isFramed && (req.method === 'POST' || req.method === 'PUT' || req.method === 'PATCH')) {
    headers.push('Content-Length', '0');
  }
  return headers;
}

/** The same for a target of HTTP2. */
export function http2RequestHeaders(req: ClientRequest, isTls: boolean): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  addHeaders(headers, endToEnd(req));
  const { host = '', 'transfer-encoding': _chunked, ...others } = headers;
  return {
    ...others,
    // What gRPC's servers ask for before they send trailers.
    ...(req.headers.te?.includes('trailers') === true && { te: 'trailers' }),
    ':method': req.method ?? 'GET',
    ':path': req.url ?? '/',
    ':scheme': isTls ? 'https' : 'http',
    ':authority': host,
  };
}

/** Headers of a request that asks for another protocol: all of them go on. */
export function upgradeHeaders(req: IncomingMessage): string[] {
  return [...kept(req.rawHeaders, (name) => FORWARDED.has(name)), ...forwardedHeaders(req)];
}

/** Headers of a target's answer for the client; how its body is framed is decided anew. */
export function responseHeaders(answer: IncomingMessage): string[] {
  const named = connectionNames(answer.headers.connection);
  return kept(
    answer.rawHeaders,
    (name) => name === 'transfer-encoding' || HOP_BY_HOP.has(name) || named.has(name),
  );
}

/** Headers or trailers that a target of HTTP2 has sent: names and values in turns. */
export function http2ResponseHeaders(answer: IncomingHttpHeaders): string[] {
  return Object.entries(answer).flatMap(([name, value]) =>
    name.startsWith(':') || value === undefined || HOP_BY_HOP.has(name)
      ? []
      : [value].flat().flatMap((one) => [name, one]),
  );
}

/** What is for the target, whatever it speaks. */
function endToEnd(req: ClientRequest): string[] {
  const named = connectionNames(req.headers.connection);
  const isHttp2 = 'stream' in req;
  const headers = kept(
    req.rawHeaders,
    (name) =>
      name.startsWith(':') ||
      HOP_BY_HOP.has(name) ||
      FORWARDED.has(name) ||
      named.has(name) ||
      (isHttp2 && (name === 'host' || name === 'cookie')),
  );
  if (isHttp2) {
    const authority = req.authority === '' ? req.headers.host : req.authority;
    headers.push('Host', authority ?? '');
    // HTTP/2 may send one header of cookies as several (RFC 9113, 8.2.3).
    if (req.headers.cookie !== undefined) {
      headers.push('Cookie', req.headers.cookie);
    }
  }
  headers.push(...forwardedHeaders(req));
  return headers;
}

function forwardedHeaders(req: ClientRequest): string[] {
  const before = req.headers['x-forwarded-for'];
  const chain = typeof before === 'string' ? [before] : (before ?? []);
  return [
    'X-Forwarded-For',
    [...chain, clientAddress(req)].join(', '),
    'X-Forwarded-Proto',
    'encrypted' in req.socket && req.socket.encrypted ? 'https' : 'http',
    'X-Forwarded-Port',
    String(req.socket.localPort ?? ''),
  ];
}

function addHeaders(to: Record<string, string | string[]>, headers: readonly string[]): void {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase();
    const value = headers[index + 1] ?? '';
    const before = to[name];
    to[name] = before === undefined ? value : [before].flat().concat(value);
  }
}

function kept(raw: readonly string[], isDropped: (name: string) => boolean): string[] {
  const headers: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (!isDropped(name.toLowerCase())) {
      headers.push(name, raw[index + 1] ?? '');
    }
  }
  return headers;
}

/** Names that `Connection` declares to be of this connection only. */
function connectionNames(connection: string | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') {
    return NONE;
  }
  return new Set(connection.split(',').map((name) => name.trim().toLowerCase()));
}

const NONE: ReadonlySet<string> = new Set();

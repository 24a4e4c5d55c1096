import type { IncomingMessage } from 'node:http';

/** Of one connection only (RFC 9110, 7.6.1), and what this side has answered itself. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);
const FORWARDED = new Set(['x-forwarded-for', 'x-forwarded-port', 'x-forwarded-proto']);

/** Headers of a request for the target: names and values in turns, as they came, with the client's address added. */
export function requestHeaders(req: IncomingMessage): string[] {
  const named = connectionNames(req.headers.connection);
  const headers = kept(
    req.rawHeaders,
    (name) => HOP_BY_HOP.has(name) || FORWARDED.has(name) || named.has(name),
  );
  headers.push(...forwardedHeaders(req));
  const hasNoBody =
    req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined;
  if (hasNoBody && (req.method === 'POST' || req.method === 'PUT' || req.method === 'PATCH')) {
    headers.push('Content-Length', '0');
  }
  return headers;
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

function forwardedHeaders(req: IncomingMessage): string[] {
  const before = req.headers['x-forwarded-for'];
  const chain = typeof before === 'string' ? [before] : (before ?? []);
  return [
    'X-Forwarded-For',
    [...chain, req.socket.remoteAddress ?? ''].join(', '),
    'X-Forwarded-Proto',
    'http',
    'X-Forwarded-Port',
    String(req.socket.localPort ?? ''),
  ];
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

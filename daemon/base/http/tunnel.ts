import { request as requestHttp, STATUS_CODES } from 'node:http';
import { Agent, request as requestHttps } from 'node:https';
import type { AgentOptions, RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { EngineError, errnoOf, isEngineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { limits } from '../limits.ts';
import { authoritiesContext } from './authorities.ts';
import { nameOf, proxyHeaders } from './proxies.ts';
import { networkWords } from './words.ts';

/** What passes later; a proxy that asks for a password or forbids an address says so again. */
const PASSING = new Set([408, 429, 502, 503, 504]);

export interface TunnelOptions extends RequestOptions {
  /** Ends a tunnel that is being made. `signal` does not come here: the request takes it out. */
  tunnelSignal?: AbortSignal;
}

/** Connections by TLS to servers behind a proxy: each through a tunnel of its own (RFC 9110, 9.3.6). */
export class TunnelAgent extends Agent {
  readonly #proxy: URL;

  constructor(proxy: URL, options: AgentOptions = {}) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(
    options: TunnelOptions,
    done: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    const connect = (socket: Duplex): void => {
      // `socket` is an option of tls.connect, which makes the connection here.
      const tls = super.createConnection({ ...options, socket } as RequestOptions);
      done(null, tls!);
    };
    // Node.js looks at the connection only when there is no error.
    const fail = (error: Error): void => done(error, undefined!);
    const target = `${bracketed(options.host ?? '')}:${options.port ?? 443}`;
    openTunnel(this.#proxy, target, options.tunnelSignal).then(connect, fail);
  }
}

/**
 * A connection to `target` (`host:port`) that a proxy passes on. Rejects with EngineError remote that names the
 * proxy, never its password: its refusal, no connection to it, or no answer within `limits.proxyConnectTimeoutMs`.
 */
async function openTunnel(proxy: URL, target: string, signal?: AbortSignal): Promise<Duplex> {
  const deadline = AbortSignal.timeout(limits.proxyConnectTimeoutMs);
  try {
    return await connectThrough(proxy, target, signal ? AbortSignal.any([signal, deadline]) : deadline);
  } catch (error) {
    signal?.throwIfAborted();
    throw deadline.aborted
      ? proxyError(proxy, 'deadline_exceeded', 'no answer in time', {})
      : proxyFailure(proxy, error instanceof Error ? error : new Error(String(error)));
  }
}

function connectThrough(proxy: URL, target: string, signal: AbortSignal): Promise<Duplex> {
  const outgoing = (proxy.protocol === 'https:' ? requestHttps : requestHttp)({
    ...addressOf(proxy),
    method: 'CONNECT',
    path: target,
    headers: { 'User-Agent': 'berth', ...proxyHeaders(proxy), Host: target },
    agent: false,
    signal,
  });
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('connect', ({ statusCode = 0 }, socket, first) => {
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        reject(proxyRefusal(proxy, statusCode));
        return;
      }
      if (first.length > 0) {
        socket.unshift(first);
      }
      resolve(socket);
    });
    outgoing.end();
  });
}

/** Where a proxy is, as options of a request. Its certificate has to be right by the authorities of the host. */
export function addressOf(proxy: URL): RequestOptions {
  const isTls = proxy.protocol === 'https:';
  const host = proxy.hostname.replace(/^\[|\]$/g, '');
  return {
    protocol: proxy.protocol,
    host,
    port: proxy.port || (isTls ? 443 : 80),
    // Node.js would take the name from the header Host, which is the server's.
    ...(isTls && { servername: isIP(host) === 0 ? host : '', secureContext: authoritiesContext() }),
  };
}

/** Proxy Authentication Required: no server says that. */
export const PROXY_REFUSES = 407;

/** The error for a client when the proxy itself refuses. */
export function proxyRefusal(proxy: URL, status: number): EngineError {
  const words = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  return proxyError(proxy, 'remote', words, { retryable: PASSING.has(status) });
}

/** The error for a client when the proxy cannot be reached. */
export function proxyFailure(proxy: URL, error: Error): EngineError {
  return isEngineError(error)
    ? error
    : proxyError(proxy, 'remote', networkWords(error), { retryable: true, errno: errnoOf(error) });
}

/** True for an error that is a proxy's, and names it. */
export function isProxyError(error: unknown): error is EngineError {
  return isEngineError(error) && 'proxy' in error.details;
}

function proxyError(
  proxy: URL,
  code: ErrorCode,
  words: string,
  details: EngineError['details'],
): EngineError {
  const name = nameOf(proxy);
  return new EngineError(code, `proxy ${name}: ${words}`, { details: { ...details, proxy: name } });
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

import { Agent as HttpAgent, request as requestHttp } from 'node:http';
import type { ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { RequestOptions } from 'node:https';
import type { SecureContext } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { authoritiesContext } from './authorities.ts';
import { proxiesOf, proxyFor, proxyHeaders } from './proxies.ts';
import { addressOf, TunnelAgent } from './tunnel.ts';
import type { TunnelOptions } from './tunnel.ts';

/** Connections kept for the requests of one operation, so many of each kind to one server. Disposing closes them. */
export class Connections implements Disposable {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  readonly #options: { keepAlive: boolean; maxFreeSockets: number };
  readonly #tunnels = new Map<string, TunnelAgent>();

  constructor(keptMax: number) {
    this.#options = { keepAlive: true, maxFreeSockets: keptMax };
    this.http = new HttpAgent(this.#options);
    this.https = new HttpsAgent(this.#options);
  }

  tunnels(proxy: URL): TunnelAgent {
    const known = this.#tunnels.get(proxy.href) ?? new TunnelAgent(proxy, this.#options);
    this.#tunnels.set(proxy.href, known);
    return known;
  }

  [Symbol.dispose](): void {
    [this.http, this.https, ...this.#tunnels.values()].forEach((agent) => agent.destroy());
  }
}

export interface OutgoingOptions extends Omit<RequestOptions, 'agent' | 'headers'> {
  headers: Readonly<Record<string, string | number>>;
}

export interface Outgoing {
  request: ClientRequest;
  /** Reads the request itself and answers it: so connection and refusals (407) are this proxy's. */
  proxy?: URL;
}

/**
 * Begins a request to an http:// or https:// address; every HTTP request of the daemon begins here. It goes through the
 * proxy that the environment of this process names for the address: in the clear as a request for the whole address, by
 * TLS to the server through a tunnel. `options` are those of http.request, and of https.request for the server; without
 * certificates in them, the host's authorities are trusted (`authorities.ts`). Without `connections` each request has
 * its own; `isDirect` never has a proxy.
 */
export function beginRequest(
  url: URL,
  options: OutgoingOptions,
  { connections, isDirect = false }: { connections?: Connections; isDirect?: boolean } = {},
): Outgoing {
  const { signal } = options;
  const proxy = isDirect ? undefined : proxyFor(url, proxiesOf(process.env));
  if (url.protocol === 'https:') {
    const tunnels = proxy && (connections?.tunnels(proxy) ?? new TunnelAgent(proxy));
    const agent = agentOption(tunnels ?? connections?.https);
    const through: TunnelOptions = {
      ...trust(options),
      ...options,
      ...agent,
      ...(signal && { tunnelSignal: signal }),
    };
    return { request: requestHttps(url, through) };
  }
  return proxy === undefined
    ? { request: requestHttp(url, { ...options, ...agentOption(connections?.http) }) }
    : { request: requestWhole(proxy, url, options, connections), proxy };
}

/** An option of tls.connect, which Node.js passes on. */
function trust({ ca, cert }: OutgoingOptions): { secureContext?: SecureContext } {
  return ca || cert ? {} : { secureContext: authoritiesContext() };
}

/** A request that the proxy reads and sends itself (RFC 9112, 3.2.2). */
function requestWhole(
  proxy: URL,
  url: URL,
  options: OutgoingOptions,
  connections: Connections | undefined,
): ClientRequest {
  const isTls = proxy.protocol === 'https:';
  return (isTls ? requestHttps : requestHttp)({
    // User and password of the URL become a header, as without a proxy.
    auth: urlToHttpOptions(url).auth,
    ...options,
    ...addressOf(proxy),
    path: `${url.origin}${url.pathname}${url.search}`,
    headers: { ...options.headers, ...proxyHeaders(proxy), Host: url.host },
    ...agentOption(isTls ? connections?.https : connections?.http),
  });
}

/** Without the key Node.js takes its own. */
function agentOption(agent: HttpAgent | undefined): Pick<RequestOptions, 'agent'> {
  return agent === undefined ? {} : { agent };
}

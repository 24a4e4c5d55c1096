import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/**
 * On TCP a web page can send requests, too: by DNS rebinding (a name of the attacker's that resolves to this host) or
 * straight across sites. Neither can forge these headers. Returns why the request is refused, or undefined.
 *
 * `hostNames`: names beside IP addresses and localhost by which clients may call this daemon.
 */
export function refuseForeign(
  headers: IncomingHttpHeaders,
  hostNames: readonly string[],
): string | undefined {
  const host = hostName(headers.host ?? '');
  if (host === undefined || !isOwnName(host, hostNames)) {
    return `host "${headers.host ?? ''}" is not one of this daemon's names`;
  }
  const { origin } = headers;
  if (origin !== undefined && !isSameOrigin(origin, headers.host ?? '')) {
    return `requests from origin "${origin}" are not allowed`;
  }
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    return `requests from other sites (Sec-Fetch-Site: ${site}) are not allowed`;
  }
  return undefined;
}

/** `[::1]:2375` -> `::1`, `localhost:2375` -> `localhost`. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]@/]+))(?::\d{1,5})?$/.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}

function isOwnName(host: string, hostNames: readonly string[]): boolean {
  return isIP(host) !== 0 || host === 'localhost' || hostNames.some((name) => name.toLowerCase() === host);
}

function isSameOrigin(origin: string, host: string): boolean {
  const lower = origin.toLowerCase();
  return lower === `http://${host.toLowerCase()}` || lower === `https://${host.toLowerCase()}`;
}

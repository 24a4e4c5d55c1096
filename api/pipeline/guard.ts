import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/**
 * On TCP a web page can send requests, too: by DNS rebinding (a name of the attacker's that resolves to this host) or
 * straight across sites. Neither can forge these headers. Returns why the request is refused, or undefined.
 *
 * `isOwnName`: of a name in lower case, whether clients may call this daemon by it; addresses and localhost always are.
 * `allowedOrigin`: the site whose pages may use the API, `*` for all, empty for none.
 */
export function refuseForeign(
  headers: IncomingHttpHeaders,
  { isOwnName, allowedOrigin }: { isOwnName: (name: string) => boolean; allowedOrigin: string },
): string | undefined {
  const host = hostName(headers.host ?? '');
  if (host === undefined || (isIP(host) === 0 && host !== 'localhost' && !isOwnName(host))) {
    return `host "${headers.host ?? ''}" is not one of this daemon's names`;
  }
  const { origin } = headers;
  if (allowedOrigin === '*' || (allowedOrigin !== '' && origin === allowedOrigin)) {
    return undefined;
  }
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

function isSameOrigin(origin: string, host: string): boolean {
  const lower = origin.toLowerCase();
  return lower === `http://${host.toLowerCase()}` || lower === `https://${host.toLowerCase()}`;
}

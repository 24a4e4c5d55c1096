import { EngineError } from '../errors.ts';
import { isExempt } from './no-proxy.ts';

/** Proxies for outgoing requests, as written: an address or ''. */
export interface Proxies {
  /** For http:// addresses. */
  http: string;
  /** For https:// addresses. */
  https: string;
  /** Hosts that are asked without a proxy (`no-proxy.ts`). */
  none: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of each, the stronger first. */
export const PROXY_VARIABLES = {
  http: ['HTTP_PROXY', 'http_proxy'],
  https: ['HTTPS_PROXY', 'https_proxy'],
  none: ['NO_PROXY', 'no_proxy'],
} as const satisfies Record<keyof Proxies, readonly string[]>;

/** As Go programs read them. Pure. */
export function proxiesOf(environment: Environment): Proxies {
  const first = (names: readonly string[]): string =>
    names.map((name) => environment[name]).find(Boolean) ?? '';
  return {
    http: first(PROXY_VARIABLES.http),
    https: first(PROXY_VARIABLES.https),
    none: first(PROXY_VARIABLES.none),
  };
}

/** The same for a program that is started: one reads only capitals, another only small letters. Pure. */
export function proxyVariables(proxies: Proxies): Record<string, string> {
  // These are the keys of the literal above.
  const names = Object.keys(PROXY_VARIABLES) as (keyof Proxies)[];
  return Object.fromEntries(
    names.flatMap((name) =>
      proxies[name] === '' ? [] : PROXY_VARIABLES[name].map((variable) => [variable, proxies[name]]),
    ),
  );
}

/**
 * The proxy through which an address is asked; undefined = directly. Throws unavailable when that is no address of a
 * proxy: what was meant to go through one never goes around it. Pure.
 */
export function proxyFor(url: URL, proxies: Proxies): URL | undefined {
  const text = url.protocol === 'https:' ? proxies.https : url.protocol === 'http:' ? proxies.http : '';
  if (text === '' || isExempt(url, proxies.none)) {
    return undefined;
  }
  const proxy = parseProxy(text);
  if (proxy === undefined) {
    throw new EngineError('unavailable', `proxy ${withoutCredentials(text)}: must look like ${PROXY_FORM}`);
  }
  return proxy;
}

export const PROXY_FORM = 'http[s]://[user:password@]host[:port]';

/** `host:port` is a proxy too. undefined = none that is known here. Pure. */
export function parseProxy(text: string): URL | undefined {
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url !== undefined && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** A proxy as messages name it. Pure. */
export function nameOf({ protocol, host }: URL): string {
  return `${protocol}//${host}`;
}

/** What a proxy wants to see before it serves. Pure. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') {
    return {};
  }
  const account = `${decoded(username)}:${decoded(password)}`;
  return { 'Proxy-Authorization': `Basic ${Buffer.from(account).toString('base64')}` };
}

/** An address as dockerd shows it, also one that cannot be parsed: without its password. Pure. */
export function withoutCredentials(text: string): string {
  return text.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*@/is, '$1xxxxx:xxxxx@');
}

/** A `%` of a password may be meant as it stands. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

import { lookup, type LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { EngineError, errnoOf, errorText } from '../../daemon/base/errors.ts';
import { proxiesOf, proxyFor } from '../../daemon/base/http/proxies.ts';
import { networkWords } from '../../daemon/base/http/words.ts';
import { hostOf, hubBase } from './hosts.ts';

/** Names being looked up now. */
const lookups = new Map<string, Promise<string[]>>();

/**
 * Addresses of a registry's domain (`registry.example.com:5000`); none for one that is reached the same way wherever it
 * is. Throws remote when the name does not resolve, or not within `waitMs`: connecting would ask the name server once
 * more, and a dead one takes ten seconds each time. Behind a proxy only the proxy may know the name: then none, and the
 * proxy resolves it.
 */
export async function addressesOf(domain: string, waitMs?: number): Promise<string[]> {
  const hub = hubBase(domain);
  if (hub === undefined) {
    return await addressesAt(new URL(`https://${domain}/v2/`), hostOf(domain), waitMs);
  }
  await expectAddresses(new URL('/v2/', hub), waitMs);
  return [];
}

/** Throws as `addressesOf` where `waitMs` is given and connecting to the URL would wait longer for its address. */
export async function expectAddresses(url: URL, waitMs: number | undefined): Promise<void> {
  if (waitMs !== undefined && !hasProxy(url)) {
    await addressesAt(url, url.hostname, waitMs);
  }
}

async function addressesAt(url: URL, host: string, waitMs: number | undefined): Promise<string[]> {
  if (isIP(host) !== 0) {
    return [host];
  }
  try {
    return await within(waitMs, host, lookUp(host));
  } catch (error) {
    if ([url, new URL(`http://${url.host}/`)].some(hasProxy)) {
      return [];
    }
    const words = error instanceof Error ? networkWords(error) : errorText(error);
    throw new EngineError('remote', `Get "${url.href}": ${words}`, {
      cause: error,
      details: { retryable: true, errno: errnoOf(error) },
    });
  }
}

/**
 * The C library's wait for a dead name server is the resolver's (resolv.conf(5): 5 s, twice, for each server and search
 * domain) and holds a thread of the pool. So clients that want the same name share one lookup, and one that does not
 * want to wait so long leaves it running. RES_OPTIONS in our environment would cut the wait for all: pull and push,
 * which tell their clients that they wait, would lose registries behind slow name servers.
 */
function lookUp(host: string): Promise<string[]> {
  const running = lookups.get(host);
  if (running !== undefined) {
    return running;
  }
  const begun = new Promise<LookupAddress[]>((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  })
    .then((found) => found.map(({ address }) => address))
    .finally(() => lookups.delete(host));
  lookups.set(host, begun);
  return begun;
}

/** As `looking`, but rejects as a lookup that timed out once `waitMs` are over. */
async function within(
  waitMs: number | undefined,
  hostname: string,
  looking: Promise<string[]>,
): Promise<string[]> {
  if (waitMs === undefined) {
    return await looking;
  }
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const error = Object.assign(new Error('lookup timed out'), {
      code: 'ETIMEDOUT',
      syscall: 'getaddrinfo',
      hostname,
    });
    timer = setTimeout(() => reject(error), waitMs);
  });
  try {
    return await Promise.race([looking, late]);
  } finally {
    clearTimeout(timer);
  }
}

function hasProxy(url: URL): boolean {
  return proxyFor(url, proxiesOf(process.env)) !== undefined;
}

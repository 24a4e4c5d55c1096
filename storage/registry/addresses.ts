import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { EngineError, errnoOf, errorText } from '../../daemon/base/errors.ts';
import { proxiesOf, proxyFor } from '../../daemon/base/http/proxies.ts';
import { networkWords } from '../../daemon/base/http/words.ts';
import { hostOf, needsAddresses } from './hosts.ts';

/**
 * Addresses of a registry's domain (`registry.example.com:5000`); none for one that is reached the same way wherever it
 * is. Throws remote when the name does not resolve: connecting would ask the name server once more, and a dead one
 * takes ten seconds each time. Behind a proxy only the proxy may know the name: then none, and the proxy resolves it.
 */
export async function addressesOf(domain: string): Promise<string[]> {
  const host = hostOf(domain);
  if (isIP(host) !== 0) {
    return [host];
  }
  if (!needsAddresses(domain)) {
    return [];
  }
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    const url = new URL(`https://${domain}/v2/`);
    const proxies = proxiesOf(process.env);
    if ([url, new URL(`http://${domain}/`)].some((way) => proxyFor(way, proxies) !== undefined)) {
      return [];
    }
    const words = error instanceof Error ? networkWords(error) : errorText(error);
    throw new EngineError('remote', `Get "${url.href}": ${words}`, {
      cause: error,
      details: { retryable: true, errno: errnoOf(error) },
    });
  }
}

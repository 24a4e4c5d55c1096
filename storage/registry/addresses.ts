import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

/** Addresses of a host. None when the name does not resolve: the request itself will say so. */
export async function addressesOf(host: string): Promise<string[]> {
  if (isIP(host) !== 0) {
    return [host];
  }
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    // ENOTFOUND and friends: whoever connects gets the same answer and tells it with its context.
    return [];
  }
}

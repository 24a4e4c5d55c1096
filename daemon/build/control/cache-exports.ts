import type { NamedCache } from '../../../api/types/build/ports.ts';
import { notImplemented } from '../../base/errors.ts';

/** Where the cache of a build goes. Throws not_implemented by name. Pure. */
export function readCacheExports(asked: readonly NamedCache[]): void {
  const [first] = asked;
  if (first !== undefined) {
    throw notImplemented(`cache export ${first.type} is not supported yet`);
  }
}

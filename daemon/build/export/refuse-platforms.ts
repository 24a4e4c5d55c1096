import { notImplemented } from '../../base/errors.ts';
import type { Output } from './read-outputs.ts';
import type { CacheExport } from '../control/cache-options.ts';

/**
 * Throws not_implemented where a build for several platforms (`linux/amd64,linux/arm64`) cannot go: `docker load` reads
 * an archive of one, and a cache that is exported is that of one. Pure.
 */
export function refusePlatforms(
  platform: string | undefined,
  outputs: readonly Output[],
  caches: readonly CacheExport[],
): void {
  if (platform?.includes(',') !== true) {
    return;
  }
  if (outputs.some((output) => output.kind === 'archive' && output.format === 'docker')) {
    throw notImplemented(
      `exporter docker: several platforms at once are not supported: ${platform} (type=oci has them)`,
    );
  }
  const cache = caches.find(({ type }) => type !== 'inline');
  if (cache !== undefined) {
    throw notImplemented(
      `cache export ${cache.type}: several platforms at once are not supported: ${platform}`,
    );
  }
}

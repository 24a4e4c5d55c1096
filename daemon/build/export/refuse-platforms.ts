import { notImplemented } from '../../base/errors.ts';
import type { Output } from './read-outputs.ts';
import type { CacheExport } from '../control/cache-options.ts';

/**
 * Throws not_implemented where a build for several platforms (`linux/amd64,linux/arm64`) cannot go: an image of the
 * store has one platform, `docker load` reads one, and a cache that is exported is that of one. Pure.
 */
export function refusePlatforms(
  platform: string | undefined,
  outputs: readonly Output[],
  caches: readonly CacheExport[],
): void {
  if (platform?.includes(',') !== true) {
    return;
  }
  const refused = outputs.find(
    (output) => output.kind === 'image' || (output.kind === 'archive' && output.format === 'docker'),
  );
  if (refused !== undefined) {
    const name = refused.kind === 'archive' ? refused.format : refused.kind;
    throw notImplemented(
      `exporter ${name}: several platforms at once are not supported: ${platform} (type=oci has them)`,
    );
  }
  const cache = caches.find(({ type }) => type !== 'inline');
  if (cache !== undefined) {
    throw notImplemented(
      `cache export ${cache.type}: several platforms at once are not supported: ${platform}`,
    );
  }
}

/** The same of a client that is the frontend itself: results are given back to it one at a time. Pure. */
export function refuseReturnedPlatforms(platform: string | undefined): void {
  if (platform?.includes(',') === true) {
    throw notImplemented(`several platforms at once are not supported by a gateway client: ${platform}`);
  }
}

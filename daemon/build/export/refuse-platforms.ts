import { notImplemented } from '../../base/errors.ts';
import type { Output } from './read-outputs.ts';
import type { CacheExport } from '../control/cache-options.ts';

/**
 * Throws not_implemented where a build for several platforms (`linux/amd64,linux/arm64`) cannot go: an image of the
 * store has one platform (registries take an index), `docker load` reads one, and a cache that is exported is that of
 * one. Pure.
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
    (output) =>
      (output.kind === 'image' && (output.push === 'none' || output.isStored === true)) ||
      (output.kind === 'archive' && output.format === 'docker'),
  );
  if (refused !== undefined) {
    const name = refused.kind === 'archive' ? refused.format : refused.kind;
    throw notImplemented(
      `exporter ${name}: several platforms at once are not supported: ${platform} ` +
        '(type=oci has them, and type=image,push=true where the store need not)',
    );
  }
  const cache = caches.find(({ type }) => type !== 'inline');
  if (cache !== undefined) {
    throw notImplemented(
      `cache export ${cache.type}: several platforms at once are not supported: ${platform}`,
    );
  }
}

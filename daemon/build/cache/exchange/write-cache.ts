import { several } from '../../../base/concurrency/several.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import {
  CACHE_CONFIG_TYPE,
  writeCacheDocument,
  type CacheDocument,
  type CachedResult,
  type RemoteLayer,
} from './document.ts';
import { mapLayers } from './gathered.ts';
import { writeCacheManifest, type Blob } from './manifest.ts';
import type { CacheTarget } from './ports.ts';

export interface WriteOptions {
  /** The manifest is an image's; else an index. */
  isImage: boolean;
  /** Results that are not here: they are kept where the target has their layers. */
  elsewhere: readonly CachedResult<RemoteLayer>[];
  diffId: (layerId: number) => string;
  told: (step: string) => void;
  signal: AbortSignal;
}

/** Sends the layers, then what says what they are, then its name: a cache that is cut off is the one before. */
export async function writeCache(
  target: CacheTarget,
  held: CacheDocument<number>,
  { isImage, elsewhere, diffId, told, signal }: WriteOptions,
): Promise<Blob> {
  const layerIds = new Set(held.results.flatMap(({ layers }) => layers));
  const blobs = await putLayers(target, [...layerIds], { told, signal });
  const blobOf = (layerId: number): Blob => blobs.get(layerId) ?? { digest: '', size: 0, mediaType: '' };
  const { results, contentKeys } = mapLayers(held, (layerId): RemoteLayer => ({
    ...blobOf(layerId),
    diffId: diffId(layerId),
  }));
  const carried = await carriedOver(target, elsewhere, signal);
  const document = writeCacheDocument({ results: [...results, ...carried], contentKeys });
  const all = [...blobs.values(), ...carried.flatMap(({ layers }) => layers)];
  const config = await target.putBlob(document, CACHE_CONFIG_TYPE, signal);
  failpoint('build.cache.export.config');
  told(`writing config ${config.digest}`);
  const manifest = await target.putManifest(writeCacheManifest(config, all, isImage), signal);
  told(`writing cache manifest ${manifest.digest}`);
  return manifest;
}

/** In the order of the ids. */
async function putLayers(
  target: CacheTarget,
  layerIds: readonly number[],
  { told, signal }: Pick<WriteOptions, 'told' | 'signal'>,
): Promise<Map<number, Blob>> {
  const max = limits.cacheUploadsMax;
  const put = await several(layerIds, { max, signal }, async (layerId, ends): Promise<[number, Blob]> => {
    const blob = await target.putLayer(layerId, ends);
    failpoint('build.cache.export.layer');
    told(`writing layer ${blob.digest}`);
    return [layerId, blob];
  });
  return new Map(put);
}

async function carriedOver(
  target: CacheTarget,
  elsewhere: readonly CachedResult<RemoteLayer>[],
  signal: AbortSignal,
): Promise<CachedResult<RemoteLayer>[]> {
  const known = new Map<string, boolean>();
  for (const layer of elsewhere.flatMap(({ layers }) => layers)) {
    if (!known.has(layer.digest)) {
      known.set(layer.digest, await target.has(layer, signal));
    }
  }
  return elsewhere.filter(({ layers }) => layers.every(({ digest }) => known.get(digest) === true));
}

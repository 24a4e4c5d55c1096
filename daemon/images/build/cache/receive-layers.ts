import type { RemoteLayer } from '../../../build/cache/exchange/document.ts';
import type { CacheSource } from '../../../build/cache/exchange/ports.ts';
import type { PinnedLayers } from '../../../build/ports.ts';
import { chainIds } from '../../../../storage/layers/chain.ts';
import { invalidArgument } from '../../../base/errors.ts';
import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';
import type { LayerShare } from '../../pull/layer-fetches.ts';
import { existingLayers, Shares, type PullContext } from '../../pull/fetched-layers.ts';
import { placeLayer } from '../build-layers.ts';

/**
 * Brings layers of a cache, bottom first: those that are here are not fetched, and one that a pull or another build
 * fetches now is fetched once. Their sizes and digests are checked.
 */
export async function receiveLayers(
  context: PullContext,
  layers: readonly RemoteLayer[],
  { source, signal }: { source: Pick<CacheSource, 'layer'>; signal: AbortSignal },
): Promise<PinnedLayers> {
  if (layers.length >= limits.overlayLowersMax) {
    throw invalidArgument(`max depth exceeded: an image has at most ${limits.overlayLowersMax - 1} layers`);
  }
  const chain = chainIds(layers.map(({ diffId }) => diffId));
  const existing = existingLayers(context.index, chain).map(({ id }) => id);
  const missing = layers.flatMap((layer, position) => {
    const chainId = chain[position];
    return position < existing.length || chainId === undefined ? [] : [{ layer, chainId }];
  });
  const below = { layerIds: existing, pin: context.pins.pin(existing) };
  if (missing.length === 0) {
    return below;
  }
  using _below = below.pin;
  await using shares = new Shares(
    missing.map(({ layer, chainId }) => {
      const { digest, diffId, size, mediaType } = layer;
      const descriptor = { mediaType, digest, size, platform: undefined, annotations: {} };
      return context.fetches.join({ chainId, diffId, descriptor }, source.layer(layer));
    }),
  );
  await shares.all(signal);
  failpoint('images.build.cache.fetch');
  try {
    return await context.commits.run('commit', () => commitLayers(context, existing, shares.list));
  } catch (error) {
    // Those that were committed before the one that failed.
    await context.collector.collect();
    throw error;
  }
}

/** Under the commit lock. */
async function commitLayers(
  context: PullContext,
  below: readonly number[],
  shares: readonly LayerShare[],
): Promise<PinnedLayers> {
  const { index, pins } = context;
  let current: PinnedLayers = { layerIds: below, pin: pins.pin(below) };
  for (const { fetch } of shares) {
    using _below = current.pin;
    // Another pull, or a build, may have brought it meanwhile.
    const taken = index.layerByChainId(fetch.wanted.chainId) ?? fetch.take();
    if ('id' in taken) {
      const layerIds = [...current.layerIds, taken.id];
      current = { layerIds, pin: pins.pin(layerIds) };
      continue;
    }
    try {
      current = await placeLayer(context, current.layerIds, taken);
    } catch (error) {
      fetch.lost();
      throw error;
    }
    const row = index.layerByChainId(fetch.wanted.chainId);
    if (row !== undefined) {
      fetch.placed(row, pins);
    }
  }
  return current;
}

import type { CacheLayers } from '../../../build/cache/exchange/ports.ts';
import { parseReference, withDefaultTag } from '../../../../storage/references/reference.ts';
import type { PullContext } from '../../pull/fetched-layers.ts';
import type { PushContext } from '../../push/pushed.ts';
import { receiveLayers } from './receive-layers.ts';
import { openSource, openTarget } from './registry-cache.ts';

/** Layers of the image store from and for caches of builds. */
export function cacheLayers(context: PullContext & PushContext): CacheLayers {
  return {
    registrySource: (reference, options) => openSource(context, reference, options),
    registryTarget: (reference, options) => openTarget(context, reference, options),
    configOf: (name) => {
      const reference = withDefaultTag(parseReference(name));
      const { index } = context;
      const row = reference.digest === undefined ? index.tag(reference) : index.digest(reference);
      const image = row && index.get(row.imageId);
      return image !== undefined && index.lostOf(image.row.layerIds).length === 0
        ? image.row.config
        : undefined;
    },
    receive: (layers, source, signal) => receiveLayers(context, layers, { source, signal }),
    pack: async (layerId, signal) => {
      const { index, pins, spools, layers } = context;
      using _pin = pins.pin([layerId]);
      const { diffId } = index.layer(layerId);
      const spool = await spools.open(`layer ${diffId}`);
      try {
        const { digest, sizeBytes } = await layers.pack(layerId, diffId, spool.fd, { signal });
        return {
          fd: spool.fd,
          digest,
          size: sizeBytes,
          [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
        };
      } catch (error) {
        await spool[Symbol.asyncDispose]();
        throw error;
      }
    },
  };
}

import type { CacheLayers, RegistryOptions } from '../cache/exchange/ports.ts';
import { imageManifest, IMAGE_TYPES } from '../../../storage/image-archives/oci-archive.ts';
import type { ExportedImage } from './exported-image.ts';

/** Gives an image to a registry under no name but its digest, which it answers. What is there is not sent again. */
export async function pushByDigest(
  caches: Pick<CacheLayers, 'registryTarget'>,
  { layerIds, config }: ExportedImage,
  { name, diffIds, options }: { name: string; diffIds: readonly string[]; options: RegistryOptions },
): Promise<string> {
  using target = await caches.registryTarget(name, options);
  const { signal } = options;
  const layers = new Map<string, Awaited<ReturnType<typeof target.putLayer>>>();
  for (const [position, layerId] of layerIds.entries()) {
    const diffId = diffIds[position] ?? '';
    if (!layers.has(diffId)) {
      layers.set(diffId, await target.putLayer(layerId, signal));
    }
  }
  const given = await target.putBlob(config, IMAGE_TYPES.config, signal);
  const manifest = imageManifest({
    types: IMAGE_TYPES,
    config: given,
    layers: diffIds.map((diffId) => layers.get(diffId)).filter((layer) => layer !== undefined),
    annotations: new Map(),
  });
  const { digest } = await target.putManifest({ bytes: manifest, mediaType: IMAGE_TYPES.manifest }, signal, {
    isByDigest: true,
  });
  return digest;
}

import { parseImageConfig } from '../../../storage/image/image-config.ts';
import type { Platform } from '../../../storage/image/platform.ts';
import { notImplemented } from '../../base/errors.ts';
import type { BuiltImage } from '../ports.ts';
import { layersOfTree } from '../snapshots/tree.ts';

/** What is given out: layers that the build holds, bottom first, and the configuration as bytes of JSON. */
export interface ExportedImage {
  layerIds: readonly number[];
  config: Buffer;
  platform: Platform;
  /** Seconds since 1970: when the build says that it was made. */
  epochSeconds: number | undefined;
}

/**
 * One for each platform, at least one. Throws not_implemented for files of a client that nothing was done with: they
 * are no layers.
 */
export function exportedImages(image: BuiltImage): ExportedImage[] {
  return [image, ...(image.others ?? [])].map(({ tree, config, epochSeconds }) => {
    if (tree?.content.kind === 'files') {
      throw notImplemented('a directory without any step is not supported as the result of a build');
    }
    const { os, architecture, variant } = parseImageConfig(config, 'image');
    const platform = { os, architecture, ...(variant !== '' && { variant }) };
    return { layerIds: layersOfTree(tree), config, platform, epochSeconds };
  });
}

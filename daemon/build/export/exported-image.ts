import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { formatPlatform, type Platform } from '../../../storage/image/platform.ts';
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
  return allOf(image).map(({ tree, config, epochSeconds }) => {
    if (tree?.content.kind === 'files') {
      throw notImplemented('a directory without any step is not supported as the result of a build');
    }
    return { layerIds: layersOfTree(tree), config, platform: platformOf(config), epochSeconds };
  });
}

/** `linux/amd64,linux/arm64`; undefined = no image. */
export function platformsOf(image: BuiltImage | undefined): string | undefined {
  return (
    image &&
    allOf(image)
      .map(({ config }) => formatPlatform(platformOf(config)))
      .join(',')
  );
}

/** One for each platform. */
export function allOf(image: BuiltImage): readonly BuiltImage[] {
  return [image, ...(image.others ?? [])];
}

/** That an image says of itself in its configuration. */
export function platformOf(config: Buffer): Platform {
  const { os, architecture, variant } = parseImageConfig(config, 'image');
  return { os, architecture, ...(variant !== '' && { variant }) };
}

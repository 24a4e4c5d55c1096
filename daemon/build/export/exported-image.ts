import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { formatPlatform, type Platform } from '../../../storage/image/platform.ts';
import { notImplemented } from '../../base/errors.ts';
import type { Attestation } from '../../../storage/image-archives/statement.ts';
import type { BuiltImage } from '../ports.ts';
import { layersOfTree } from '../snapshots/tree.ts';

/** What is given out: layers that the build holds, bottom first, and the configuration as bytes of JSON. */
export interface ExportedImage {
  layerIds: readonly number[];
  /** How many of them are of what it is based on. */
  baseLayers: number;
  config: Buffer;
  platform: Platform;
  /** It is one of those for platforms, also where there is no other. */
  isByPlatform: boolean;
  /** Seconds since 1970: when the build says that it was made. */
  epochSeconds: number | undefined;
  /** What is said of it. */
  attestations: readonly Attestation[];
}

/**
 * One for each platform, at least one. Throws not_implemented for files of a client that nothing was done with: they
 * are no layers.
 */
export function exportedImages(
  image: BuiltImage,
  attest: (image: BuiltImage) => readonly Attestation[],
): ExportedImage[] {
  return allOf(image).map((each) => {
    const { tree, config, epochSeconds, recipe } = each;
    if (tree?.content.kind === 'files') {
      throw notImplemented('a directory without any step is not supported as the result of a build');
    }
    const platform = platformOf(config);
    const { baseLayers } = recipe;
    const layerIds = layersOfTree(tree);
    const isByPlatform = image.others !== undefined;
    const attestations = attest(each);
    return { layerIds, baseLayers, config, platform, isByPlatform, epochSeconds, attestations };
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
  const { os, architecture, variant } = parseImageConfig(config, 'image', { anySystem: true });
  return { os, architecture, ...(variant !== '' && { variant }) };
}

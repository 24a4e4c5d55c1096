import { formatPlatform } from '../../../storage/image/platform.ts';
import { allOf, platformOf } from '../export/exported-image.ts';
import type { BuiltImage } from '../ports.ts';

/** Names of what goes with results, in BuildKit's words (exporter/containerimage/exptypes). */
const CONFIG = 'containerimage.config';
const PLATFORMS = 'refs.platforms';

/** What clients are told of a result besides its files: its configuration, or those of its platforms. Pure. */
export function resultMetadata(image: BuiltImage): Map<string, Buffer> {
  if (image.others === undefined) {
    return new Map([[CONFIG, image.config]]);
  }
  const all = allOf(image);
  const configs = all.map(
    ({ config }) => [`${CONFIG}/${formatPlatform(platformOf(config))}`, config] as const,
  );
  return new Map([[PLATFORMS, platformList(all)], ...configs]);
}

/** Which result is for which platform, in their order. Pure. */
function platformList(images: readonly BuiltImage[]): Buffer {
  const Platforms = images.map(({ config }) => {
    const { os, architecture, variant } = platformOf(config);
    return {
      ID: formatPlatform(platformOf(config)),
      Platform: { architecture, os, ...(variant !== undefined && { variant }) },
    };
  });
  return Buffer.from(JSON.stringify({ Platforms }));
}

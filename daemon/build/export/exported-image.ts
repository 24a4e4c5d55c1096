import { notImplemented } from '../../base/errors.ts';
import type { BuiltImage } from '../ports.ts';
import { layersOfTree } from '../snapshots/tree.ts';

/** What is given out: layers that the build holds, bottom first, and the configuration as bytes of JSON. */
export interface ExportedImage {
  layerIds: readonly number[];
  config: Buffer;
  /** Seconds since 1970: when the build says that it was made. */
  epochSeconds: number | undefined;
}

/** Throws not_implemented for files of a client that nothing was done with: they are no layers. */
export function exportedImage({ tree, config, epochSeconds }: BuiltImage): ExportedImage {
  if (tree?.content.kind === 'files') {
    throw notImplemented('a directory without any step is not supported as the result of a build');
  }
  return { layerIds: layersOfTree(tree), config, epochSeconds };
}

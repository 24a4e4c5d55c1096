import type { ImagesDeps } from './deps.ts';
import type { ImageIndex } from './image-index.ts';
import type { LayerPins } from './layer-pins.ts';
import type { LayerCollector } from './load/layer-collector.ts';
import type { UnsyncedLayers } from './load/unsynced-layers.ts';

/** What the verbs of images share: the dependencies, and the state of the domain. */
export interface ImageContext extends ImagesDeps {
  index: ImageIndex;
  pins: LayerPins;
  collector: LayerCollector;
  unsynced: UnsyncedLayers;
}

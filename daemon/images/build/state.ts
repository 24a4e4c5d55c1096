import type { ContainerConfig } from '../../../api/types/container.ts';
import type { RegistryAuth } from '../../../api/types/image.ts';
import type { BuildRequest, PullOptions } from '../../../api/types/ports.ts';
import type { ImageContext } from '../context.ts';
import type { ProgressMessage } from '../../../api/types/image.ts';
import type { BuildArgs } from './args.ts';
import type { CacheSources } from './cache-sources.ts';
import type { BuildDeps, ClassicDeps, ReceivedContext } from './ports.ts';
import type { BuildProgress } from './progress.ts';

/** What all steps of one build share. */
export interface Build extends BuildDeps, ClassicDeps {
  images: ImageContext;
  request: BuildRequest;
  progress: BuildProgress;
  args: BuildArgs;
  escape: string;
  context: ReceivedContext;
  /** Images of the stages that are done, in order; names in small letters. */
  stages: { name: string; imageId: string }[];
  cacheSources: CacheSources;
  signal: AbortSignal;
  /** Keeps an image from being removed until the build ends. */
  hold(imageId: string): void;
  pull(options: PullOptions): AsyncIterable<ProgressMessage>;
  auth(domain: string): Promise<RegistryAuth>;
}

/** The stage that is being built. */
export interface StageState {
  /** `''`: nothing yet. */
  imageId: string;
  config: ContainerConfig;
  author: string;
  /** A CMD of this Dockerfile: an ENTRYPOINT after it keeps it. */
  hasOwnCommand: boolean;
}

/** Directories of the layers of an image, topmost first; `imageId` empty: none. */
export function layersOf({ images }: Pick<Build, 'images'>, imageId: string): string[] {
  const layerIds = imageId === '' ? [] : images.index.findWhole(imageId).row.layerIds;
  return layerIds.map((id) => images.layers.diff(id)).toReversed();
}

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Journal } from '../events/journal-types.ts';
import type { Database } from '../../storage/database/rows.ts';
import type { RegistryAccess } from '../../storage/registry/connect.ts';
import type { LayerStore } from '../../storage/layers/store.ts';
import type { SpoolDirectory } from '../../storage/spool/spool.ts';
import type { OwnHub } from './hub/own-hub.ts';

/** A container that was made from an image. */
export interface ImageUser {
  id: string;
  name: string;
  running: boolean;
}

/** How registries are used: settings of the daemon as they are now. */
export interface RegistryUse extends RegistryAccess {
  /** Layers downloaded and uploaded at the same time. */
  downloadsMax: number;
  uploadsMax: number;
}

/** What the image domain is made of. */
export interface ImagesDeps {
  database: Pick<
    Database,
    | 'images'
    | 'tags'
    | 'manifestLists'
    | 'digests'
    | 'parents'
    | 'blobs'
    | 'layers'
    | 'hubLayers'
    | 'buildRecords'
    | 'meta'
  >;
  journal: Journal;
  layers: LayerStore;
  spools: SpoolDirectory;
  clock: Clock;
  log: Logger;
  /** Of the running kernel. */
  bootId: string;
  registry(): RegistryUse;
  /** The hub of this host; undefined = it has none, or is only about to start. */
  ownHub(): OwnHub | undefined;
  /** Written into images that this engine makes. */
  engineVersion: string;
  /** Containers of this image, in any state. */
  users(imageId: string): readonly ImageUser[];
}

import type { Migration } from '../migrate.ts';
import { initial } from './0001-initial.ts';
import { networks } from './0002-networks.ts';
import { registries } from './0003-registries.ts';
import { imageParents } from './0004-image-parents.ts';
import { volumeHolds } from './0005-volume-holds.ts';
import { volumeMakings } from './0006-volume-makings.ts';
import { swarmObjects } from './0007-swarm-objects.ts';
import { hubRecords } from './0008-hub-records.ts';
import { hubDeliveries } from './0009-hub-deliveries.ts';
import { hubLayers } from './0010-hub-layers.ts';
import { cluster } from './0011-cluster.ts';
import { buildRecords } from './0012-build-records.ts';
import { buildHistory } from './0013-build-history.ts';
import { ownDigests } from './0014-own-digests.ts';
import { manifestLists } from './0015-manifest-lists.ts';
import { annotations } from './0016-annotations.ts';
import { digestsOfLists } from './0017-digests-of-lists.ts';
import { registryIndexes } from './0018-registry-indexes.ts';

/** Every schema change in order. Add at the end, number by number; never edit one that was released. */
export const migrations: readonly Migration[] = [
  initial,
  networks,
  registries,
  imageParents,
  volumeHolds,
  volumeMakings,
  swarmObjects,
  hubRecords,
  hubDeliveries,
  hubLayers,
  cluster,
  buildRecords,
  buildHistory,
  ownDigests,
  manifestLists,
  annotations,
  digestsOfLists,
  registryIndexes,
];

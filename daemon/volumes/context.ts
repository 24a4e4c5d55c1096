import type { Database, VolumeRow } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { KeyedMutex } from '../base/concurrency/mutex.ts';
import type { Journal } from '../events/journal-types.ts';
import type { VolumeDriver } from './driver.ts';
import { ForeignVolumes } from './foreign-volumes.ts';
import { LOCAL_DRIVER, LocalDriver } from './local-driver.ts';
import { PluginDriver } from './plugin-driver.ts';
import type { VolumeDirectories, VolumePluginPort } from './ports.ts';
import { VolumeIndex } from './volume-index.ts';

export interface VolumesDeps {
  journal: Journal;
  database: Pick<Database, 'volumes' | 'volumeHolds' | 'volumeMakings'>;
  directories: VolumeDirectories;
  plugins: VolumePluginPort;
  /** Ids of the containers that have this volume among their mounts, running or not. */
  users(volumeName: string): readonly string[];
  /** Ids of those that run. */
  liveUsers(volumeName: string): readonly string[];
  /** Bytes of each directory, null = unknown. */
  sizes(directories: readonly string[]): Promise<(number | null)[]>;
  clock: Clock;
  log: Logger;
}

/** What the verbs of volumes work with. */
export interface VolumeContext extends VolumesDeps {
  registry: VolumeIndex;
  /** One operation per volume at a time. */
  locks: KeyedMutex;
  local: LocalDriver;
  plugin: PluginDriver;
  foreign: ForeignVolumes;
}

export function volumeContext(deps: VolumesDeps): VolumeContext {
  const locks = new KeyedMutex();
  return {
    ...deps,
    registry: new VolumeIndex({ journal: deps.journal, table: deps.database.volumes }),
    locks,
    local: new LocalDriver(deps),
    plugin: new PluginDriver({ ...deps, locks }),
    foreign: new ForeignVolumes(deps),
  };
}

/** The driver that keeps the volume's contents. */
export function driverOf(
  { local, plugin }: Pick<VolumeContext, 'local' | 'plugin'>,
  { driver }: Pick<VolumeRow, 'driver'>,
): VolumeDriver {
  return driver === LOCAL_DRIVER ? local : plugin;
}

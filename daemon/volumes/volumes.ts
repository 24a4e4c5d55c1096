import type { VolumeCreateRequest, VolumePruneReport, VolumeView } from '../../api/types/system.ts';
import type { Database, VolumeRow } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { conflict, EngineError, errorText, isEngineError, notFound } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { KeyedMutex } from '../base/mutex.ts';
import { persistently } from '../base/retry.ts';
import { Rollback } from '../base/rollback.ts';
import type { EventDraft, Journal } from '../events/journal-types.ts';
import type { VolumeDriver } from './driver.ts';
import { draft } from './events.ts';
import { volumeFilter } from './filter.ts';
import { ForeignVolumes } from './foreign-volumes.ts';
import type { ForeignVolume } from './foreign-volumes.ts';
import { LOCAL_DRIVER, LocalDriver } from './local-driver.ts';
import { checkVolumeName } from './names.ts';
import { PluginDriver } from './plugin-driver.ts';
import type { VolumeDirectories, VolumePluginPort } from './ports.ts';
import { ANONYMOUS_LABEL, pruneTest } from './prune.ts';
import { volumeView } from './view.ts';
import type { VolumeReservation } from '../containers/ports.ts';

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

interface CreateOptions {
  driver?: string;
  driverOpts?: Record<string, string>;
  labels?: Record<string, string>;
  anonymous: boolean;
  /** The name was invented for it. */
  isOurName?: boolean;
}

/**
 * The volumes of this engine: `VolumePort` of the API and `VolumeBinder` of the containers. All answers come from
 * memory; rows and events are written through the journal.
 *
 * INVARIANTS
 * - One operation per volume at a time (`#locks`).
 * - A row is written after its directory is made and deleted after its directory is out of sight.
 */
export class Volumes {
  readonly #deps: VolumesDeps;
  readonly #rows = new Map<string, VolumeRow>();
  readonly #locks = new KeyedMutex();
  readonly #local: LocalDriver;
  readonly #plugin: PluginDriver;
  readonly #foreign: ForeignVolumes;

  constructor(deps: VolumesDeps) {
    this.#deps = deps;
    this.#local = new LocalDriver(deps);
    this.#plugin = new PluginDriver({ ...deps, locks: this.#locks });
    this.#foreign = new ForeignVolumes(deps);
  }

  /** Reads the rows and finishes what an earlier daemon left. Once, before anything else. */
  async restore(): Promise<void> {
    for (const row of this.#deps.database.volumes.all()) {
      this.#rows.set(row.name, row);
    }
    this.#plugin.restore();
    const namesOf = (isLocal: boolean): Set<string> =>
      new Set(
        [...this.#rows.values()]
          .filter(({ driver }) => (driver === LOCAL_DRIVER) === isLocal)
          .map(({ name }) => name),
      );
    await this.#deps.directories.restore(namesOf(true), namesOf(false));
  }

  /**
   * Once the containers are known: takes off the mounts that an earlier daemon left and nobody uses. Those of plugins
   * behind this: one that is down must not hold up the start of the daemon.
   */
  async settle(): Promise<void> {
    this.#plugin.settleMakings();
    for (const row of this.#rows.values()) {
      const settled = this.#locks.run(row.name, () => this.#driverOf(row).settle(row));
      const noted = settled.catch((error: unknown) => {
        this.#deps.log.error({ volume: row.name, err: error }, 'a volume could not be unmounted');
      });
      if (row.driver === LOCAL_DRIVER) {
        await noted;
      }
    }
  }

  // ---------------------------------------------------------------------------------------------- VolumePort

  /** Ours, and what plugins have beside them. A plugin that does not answer is a warning. */
  async list(
    filters: ReadonlyMap<string, readonly string[]>,
  ): Promise<{ Volumes: VolumeView[]; Warnings: string[] | null }> {
    const matches = volumeFilter(filters);
    const { volumes, warnings } = await this.#foreign.list();
    const all = new Map(volumes.map((foreign) => [foreign.row.name, foreign]));
    for (const row of this.#rows.values()) {
      const foreign = all.get(row.name);
      all.set(row.name, foreign?.row.driver === row.driver ? { ...foreign, row } : { row });
    }
    const found = [...all.values()]
      .filter(({ row }) => matches(row, this.#deps.users(row.name).length > 0))
      .toSorted((a, b) => (a.row.name < b.row.name ? -1 : 1));
    return {
      Volumes: found.map((each) => this.#view(each)),
      Warnings: warnings.length === 0 ? null : warnings,
    };
  }

  async create(body: VolumeCreateRequest): Promise<VolumeView> {
    const unnamed = body.Name === undefined || body.Name === '';
    const row = await this.#createUnlessThere(body.Name || newId(), {
      ...(body.Driver ? { driver: body.Driver } : {}),
      driverOpts: body.DriverOpts ?? {},
      labels: { ...body.Labels, ...(unnamed ? { [ANONYMOUS_LABEL]: '' } : {}) },
      // Anonymous are only those that belong to one container: this one was asked for.
      anonymous: false,
      isOurName: unnamed,
    });
    return await this.#viewNow(row.row);
  }

  async inspect(name: string): Promise<VolumeView> {
    const row = this.#rows.get(name);
    if (row !== undefined) {
      return await this.#viewNow(row);
    }
    const foreign = await this.#foreign.find(name);
    if (foreign === undefined) {
      throw noSuchVolume(name);
    }
    return this.#view(foreign);
  }

  /** Volume drivers that can be named in requests now, for /info. */
  async drivers(): Promise<string[]> {
    return [LOCAL_DRIVER, ...(await this.#deps.plugins.names())].toSorted();
  }

  /**
   * `force`: a volume that does not exist is not an error, and one that its plugin does not remove is at least
   * forgotten here. One in use always is an error.
   */
  remove(name: string, options: { force: boolean }): Promise<void> {
    return this.#locks.run(name, async () => {
      const row = this.#rows.get(name) ?? (await this.#foreign.find(name))?.row;
      if (row === undefined) {
        if (options.force) {
          return;
        }
        throw noSuchVolume(name);
      }
      const users = this.#deps.users(name);
      if (users.length > 0) {
        throw conflict(`remove ${name}: volume is in use - [${users.join(', ')}]`);
      }
      await this.#removeUnused(row, options);
    });
  }

  /** Removes the local volumes that no container uses and that pass; one that is taken into use meanwhile stays. */
  async prune(filters: ReadonlyMap<string, readonly string[]>): Promise<VolumePruneReport> {
    const passes = pruneTest(filters);
    const deleted: string[] = [];
    let reclaimed = 0;
    const local = [...this.#rows.values()].filter(({ driver }) => driver === LOCAL_DRIVER);
    for (const row of local.filter((each) => passes(each))) {
      const size = await this.#locks.run(row.name, () => this.#prune(row));
      if (size !== undefined) {
        deleted.push(row.name);
        reclaimed += size;
      }
    }
    const attributes = { reclaimed: String(reclaimed) };
    this.#deps.journal.note({ type: 'volume', action: 'prune', actorId: '', attributes });
    return { VolumesDeleted: deleted.length === 0 ? null : deleted, SpaceReclaimed: reclaimed };
  }

  // ---------------------------------------------------------------------------------------------- VolumeBinder

  async ensure(
    name: string,
    options: CreateOptions,
  ): Promise<{ name: string; mountpoint: string; driver: string; created: boolean }> {
    const { row, created } = await this.#createUnlessThere(name, {
      ...options,
      labels: { ...options.labels, ...(options.anonymous ? { [ANONYMOUS_LABEL]: '' } : {}) },
    });
    return { name, mountpoint: this.#driverOf(row).mountpoint(row), driver: row.driver, created };
  }

  /** See `VolumeBinder`. */
  driverOf(name: string): string | undefined {
    return this.#rows.get(name)?.driver;
  }

  /** See `VolumeBinder`. */
  reserveAnonymous(name: string, options: Omit<CreateOptions, 'anonymous'>): Promise<VolumeReservation> {
    return this.#locks.run(name, async () => {
      checkVolumeName(name);
      const existing = this.#rows.get(name);
      if (existing !== undefined) {
        const mountpoint = this.#driverOf(existing).mountpoint(existing);
        return { mountpoint, store: () => undefined, undo: () => Promise.resolve() };
      }
      const labels = { ...options.labels, [ANONYMOUS_LABEL]: '' };
      const row = await this.#newRow(name, { ...options, labels, anonymous: true });
      const driver = this.#driverOf(row);
      await using rollback = new Rollback(this.#deps.log, { volume: name });
      rollback.defer('remove its directory', () => driver.undoCreate(row));
      await driver.create(row, { isOurName: true });
      failpoint('volume.reserve.directory');
      rollback.commit();
      return {
        mountpoint: driver.mountpoint(row),
        // Becomes durable with the row of its container.
        store: () => this.#store(row, { durable: false }),
        undo: () =>
          this.#locks.run(name, () => {
            this.#rows.delete(name);
            return driver.undoCreate(row);
          }),
      };
    });
  }

  /** See `VolumeBinder`: fills an empty volume from a directory of the container's file system. */
  populate(name: string, sourceRoot: string, sourcePath: string): Promise<void> {
    return this.#locks.run(name, () => {
      const row = this.#get(name);
      return this.#driverOf(row).populate(row, sourceRoot, sourcePath);
    });
  }

  /** See `VolumeBinder`. */
  acquire(name: string, holder: string): Promise<string> {
    return this.#locks.run(name, () => {
      const row = this.#get(name);
      return this.#driverOf(row).acquire(row, holder);
    });
  }

  /** See `VolumeBinder`. */
  release(name: string, holder: string): Promise<void> {
    return this.#locks.run(name, async () => {
      const row = this.#rows.get(name);
      if (row !== undefined) {
        await this.#driverOf(row).release(row, holder);
      }
    });
  }

  mounted(
    name: string,
    containerId: string,
    mount?: { destination: string; readWrite: boolean; propagation: string },
  ): void {
    this.#tell(name, 'mount', {
      container: containerId,
      ...(mount && {
        destination: mount.destination,
        'read/write': String(mount.readWrite),
        propagation: mount.propagation,
      }),
    });
  }

  unmounted(name: string, containerId: string): void {
    this.#tell(name, 'unmount', { container: containerId });
  }

  /** Removes a volume that was made for this container, which is being removed, unless another one uses it by now. */
  removeAnonymous(name: string, containerId: string): Promise<void> {
    return this.#locks.run(name, async () => {
      const row = this.#rows.get(name);
      if (row?.anonymous === true && this.#users(name, containerId).length === 0) {
        await this.#removeUnused(row, { exceptContainer: containerId });
      }
    });
  }

  // ---------------------------------------------------------------------------------------------- inside

  #driverOf({ driver }: Pick<VolumeRow, 'driver'>): VolumeDriver {
    return driver === LOCAL_DRIVER ? this.#local : this.#plugin;
  }

  /** Throws unless the driver is there and takes the options. */
  async #newRow(name: string, options: CreateOptions): Promise<VolumeRow> {
    const driver = options.driver || LOCAL_DRIVER;
    await this.#foreign.check(name, driver);
    this.#driverOf({ driver }).check(name, options.driverOpts ?? {});
    return {
      name,
      driver,
      options: options.driverOpts ?? {},
      labels: options.labels ?? {},
      anonymous: options.anonymous,
      createdNano: this.#deps.clock.nowNano(),
    };
  }

  #createUnlessThere(name: string, options: CreateOptions): Promise<{ row: VolumeRow; created: boolean }> {
    return this.#locks.run(name, async () => {
      checkVolumeName(name);
      const existing = this.#rows.get(name);
      if (existing !== undefined) {
        await this.#refuseOther(existing, options.driver);
        return { row: existing, created: false };
      }
      const found = await this.#foreign.existing(name, options);
      const row = await this.#newRow(name, { ...options, ...(found && { driver: found }) });
      const driver = this.#driverOf(row);
      await using rollback = new Rollback(this.#deps.log, { volume: name });
      if (found === undefined) {
        rollback.defer('remove its directory', () => driver.undoCreate(row));
        await driver.create(row, { isOurName: options.anonymous || options.isOurName === true });
      }
      failpoint('volume.create.row');
      this.#store(row, { durable: true });
      rollback.commit();
      return { row, created: found === undefined };
    });
  }

  /** A name means one volume, whatever driver has it. */
  async #refuseOther({ name, driver }: VolumeRow, wanted: string | undefined): Promise<void> {
    if (wanted && wanted !== driver) {
      await this.#foreign.check(name, wanted);
      throw conflict(
        `create ${name}: driver '${driver}' already has volume '${name}': volume name must be unique`,
      );
    }
  }

  #store(row: VolumeRow, options: { durable: boolean }): void {
    this.#commit(draft(row, 'create'), options, () => {
      this.#deps.database.volumes.insert(row);
      if (row.driver !== LOCAL_DRIVER) {
        this.#plugin.stored(row);
      }
    });
    this.#rows.set(row.name, row);
  }

  /** Containers that use it, but for one that is on its way out. */
  #users(name: string, exceptContainer?: string): string[] {
    return this.#deps.users(name).filter((id) => id !== exceptContainer);
  }

  async #removeUnused(
    row: VolumeRow,
    { exceptContainer, force = false }: { exceptContainer?: string; force?: boolean } = {},
  ): Promise<void> {
    const { name } = row;
    const driver = this.#driverOf(row);
    await using rollback = new Rollback(this.#deps.log, { volume: name });
    await driver.settle(row, exceptContainer);
    const removal = await driver.beginRemove(row);
    rollback.defer('put the directory back', () => removal.undo());
    failpoint('volume.remove.renamed');
    // Somebody may have begun to use it while the directory was renamed.
    const users = this.#users(name, exceptContainer);
    if (users.length > 0) {
      throw conflict(`remove ${name}: volume is in use - [${users.join(', ')}]`);
    }
    try {
      // Not awaited where there is nothing: the row goes in the tick of that question.
      if (removal.destroy !== undefined) {
        await removal.destroy();
      }
    } catch (error) {
      if (!force) {
        throw isEngineError(error)
          ? new EngineError(error.code, `remove ${name}: ${errorText(error)}`)
          : error;
      }
      this.#deps.log.warn(
        { volume: name, err: error },
        'a volume was forgotten that its plugin did not remove',
      );
    }
    this.#commit(draft(row, 'destroy'), { durable: true }, () => {
      this.#deps.database.volumes.remove(name);
    });
    this.#rows.delete(name);
    rollback.commit();
    try {
      await persistently(this.#deps.clock, () => {
        failpoint('volume.remove.files');
        return removal.finish();
      });
    } catch (error) {
      // The volume is gone for everybody; the next start deletes the rest.
      this.#deps.log.error({ volume: name, err: error }, 'files of a removed volume could not be deleted');
    }
  }

  /** Bytes given back; undefined = it stays. */
  async #prune(row: VolumeRow): Promise<number | undefined> {
    const { directories, log } = this.#deps;
    if (this.#rows.get(row.name) !== row || this.#users(row.name).length > 0) {
      return undefined;
    }
    try {
      const [size] = await this.#deps.sizes([directories.mountpoint(row.name)]);
      await this.#removeUnused(row);
      return size ?? 0;
    } catch (error) {
      if (!isEngineError(error)) {
        throw error;
      }
      log.warn({ volume: row.name, err: error }, 'prune left a volume');
      return undefined;
    }
  }

  #get(name: string): VolumeRow {
    const row = this.#rows.get(name);
    if (row === undefined) {
      throw noSuchVolume(name);
    }
    return row;
  }

  /** With what its plugin says of it now. */
  async #viewNow(row: VolumeRow): Promise<VolumeView> {
    return this.#view(row.driver === LOCAL_DRIVER ? { row } : await this.#foreign.describe(row));
  }

  #view(volume: ForeignVolume): VolumeView {
    return volumeView(volume, this.#driverOf(volume.row).mountpoint(volume.row));
  }

  #tell(name: string, action: string, attributes: Record<string, string>): void {
    const driver = this.#rows.get(name)?.driver ?? LOCAL_DRIVER;
    this.#commit(draft({ name, driver }, action, attributes), { durable: false }, nothing);
  }

  #commit(event: EventDraft, options: { durable: boolean }, change: () => void): void {
    this.#deps.journal.commit((emit) => {
      change();
      emit(event);
    }, options);
  }
}

function noSuchVolume(name: string): EngineError {
  return notFound(`get ${name}: no such volume`);
}

/** No more than the event: who uses a volume is in the containers' rows. */
function nothing(): void {
  // See above.
}

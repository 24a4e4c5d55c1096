import type { VolumeCreateRequest, VolumePruneReport, VolumeView } from '../../api/types/system.ts';
import type { Database, VolumeRow } from '../../storage/database/rows.ts';
import { formatNano } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { conflict, isEngineError, notFound } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/log.ts';
import { KeyedMutex } from '../base/mutex.ts';
import { persistently } from '../base/retry.ts';
import { Rollback } from '../base/rollback.ts';
import type { EventDraft, Journal } from '../events/journal-types.ts';
import { volumeFilter } from './filter.ts';
import { LocalMounts } from './local-mounts.ts';
import { checkLocalOptions } from './mount-options.ts';
import { checkVolumeName } from './names.ts';
import type { VolumeDirectories } from './ports.ts';
import { ANONYMOUS_LABEL, pruneTest } from './prune.ts';
import type { VolumeReservation } from '../containers/ports.ts';

export interface VolumesDeps {
  journal: Journal;
  database: Pick<Database, 'volumes'>;
  directories: VolumeDirectories;
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
}

const DRIVER = 'local';

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
  readonly #mounts: LocalMounts;

  constructor(deps: VolumesDeps) {
    this.#deps = deps;
    this.#mounts = new LocalMounts(deps);
  }

  /** Reads the rows and finishes what an earlier daemon left. Once, before anything else. */
  async restore(): Promise<void> {
    for (const row of this.#deps.database.volumes.all()) {
      this.#rows.set(row.name, row);
    }
    await this.#deps.directories.restore(new Set(this.#rows.keys()));
  }

  /** Once the containers are known: takes off the mounts that an earlier daemon left and nobody uses. */
  async settle(): Promise<void> {
    for (const row of this.#rows.values()) {
      try {
        await this.#locks.run(row.name, () => this.#mounts.settle(row));
      } catch (error) {
        this.#deps.log.error({ volume: row.name, err: error }, 'a volume could not be unmounted');
      }
    }
  }

  // ---------------------------------------------------------------------------------------------- VolumePort

  list(
    filters: ReadonlyMap<string, readonly string[]>,
  ): Promise<{ Volumes: VolumeView[]; Warnings: string[] | null }> {
    return settled(() => {
      const matches = volumeFilter(filters);
      const found = [...this.#rows.values()]
        .filter((row) => matches(row, this.#deps.users(row.name).length > 0))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return { Volumes: found.map((row) => this.#view(row)), Warnings: null };
    });
  }

  async create(body: VolumeCreateRequest): Promise<VolumeView> {
    const unnamed = body.Name === undefined || body.Name === '';
    const row = await this.#createUnlessThere(body.Name || newId(), {
      ...(body.Driver ? { driver: body.Driver } : {}),
      driverOpts: body.DriverOpts ?? {},
      labels: { ...body.Labels, ...(unnamed ? { [ANONYMOUS_LABEL]: '' } : {}) },
      // Anonymous are only those that belong to one container: this one was asked for.
      anonymous: false,
    });
    return this.#view(row.row);
  }

  inspect(name: string): Promise<VolumeView> {
    return settled(() => this.#view(this.#get(name)));
  }

  /** `force`: a volume that does not exist is not an error. One in use always is. */
  remove(name: string, options: { force: boolean }): Promise<void> {
    return this.#locks.run(name, async () => {
      if (options.force && !this.#rows.has(name)) {
        return;
      }
      const row = this.#get(name);
      const users = this.#deps.users(name);
      if (users.length > 0) {
        throw conflict(`remove ${name}: volume is in use - [${users.join(', ')}]`);
      }
      await this.#removeUnused(row);
    });
  }

  /** Removes the volumes that no container uses and that pass; one that is taken into use meanwhile stays. */
  async prune(filters: ReadonlyMap<string, readonly string[]>): Promise<VolumePruneReport> {
    const passes = pruneTest(filters);
    const deleted: string[] = [];
    let reclaimed = 0;
    for (const row of [...this.#rows.values()].filter((each) => passes(each))) {
      const size = await this.#locks.run(row.name, () => this.#prune(row));
      if (size !== undefined) {
        deleted.push(row.name);
        reclaimed += size;
      }
    }
    const attributes = { reclaimed: String(reclaimed) };
    this.#commit({ type: 'volume', action: 'prune', actorId: '', attributes }, { durable: false }, nothing);
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
    return { name, mountpoint: this.#deps.directories.mountpoint(name), driver: row.driver, created };
  }

  /** See `VolumeBinder`. */
  reserveAnonymous(name: string, options: Omit<CreateOptions, 'anonymous'>): Promise<VolumeReservation> {
    return this.#locks.run(name, async () => {
      const { directories, log } = this.#deps;
      const mountpoint = directories.mountpoint(name);
      checkVolumeName(name);
      checkDriver(name, options.driver ?? '');
      if (this.#rows.has(name)) {
        return { mountpoint, store: () => undefined, undo: () => Promise.resolve() };
      }
      const labels = { ...options.labels, [ANONYMOUS_LABEL]: '' };
      const row = this.#newRow(name, { ...options, labels, anonymous: true });
      await using rollback = new Rollback(log, { volume: name });
      rollback.defer('remove its directory', () => directories.undoCreate(name));
      await directories.create(name);
      failpoint('volume.reserve.directory');
      rollback.commit();
      return {
        mountpoint,
        // Becomes durable with the row of its container.
        store: () => this.#store(row, { durable: false }),
        undo: () =>
          this.#locks.run(name, () => {
            this.#rows.delete(name);
            return directories.undoCreate(name);
          }),
      };
    });
  }

  /** See `VolumeBinder`: fills an empty volume from a directory of the container's file system. */
  populate(name: string, sourceRoot: string, sourcePath: string): Promise<void> {
    return this.#locks.run(name, () => this.#mounts.populate(this.#get(name), sourceRoot, sourcePath));
  }

  /** See `VolumeBinder`. */
  acquire(name: string, holder: string): Promise<void> {
    return this.#locks.run(name, () => this.#mounts.acquire(this.#get(name), holder));
  }

  /** See `VolumeBinder`. */
  release(name: string, holder: string): Promise<void> {
    return this.#locks.run(name, async () => {
      const row = this.#rows.get(name);
      if (row !== undefined) {
        await this.#mounts.release(row, holder);
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
        await this.#removeUnused(row, containerId);
      }
    });
  }

  // ---------------------------------------------------------------------------------------------- inside

  #newRow(name: string, options: CreateOptions): VolumeRow {
    checkLocalOptions(name, options.driverOpts ?? {});
    return {
      name,
      driver: DRIVER,
      options: options.driverOpts ?? {},
      labels: options.labels ?? {},
      anonymous: options.anonymous,
      createdNano: this.#deps.clock.nowNano(),
    };
  }

  #createUnlessThere(name: string, options: CreateOptions): Promise<{ row: VolumeRow; created: boolean }> {
    return this.#locks.run(name, async () => {
      checkVolumeName(name);
      checkDriver(name, options.driver ?? '');
      const existing = this.#rows.get(name);
      if (existing !== undefined) {
        return { row: existing, created: false };
      }
      const row = this.#newRow(name, options);
      await using rollback = new Rollback(this.#deps.log, { volume: name });
      rollback.defer('remove its directory', () => this.#deps.directories.undoCreate(name));
      await this.#deps.directories.create(name);
      failpoint('volume.create.row');
      this.#store(row, { durable: true });
      rollback.commit();
      return { row, created: true };
    });
  }

  #store(row: VolumeRow, options: { durable: boolean }): void {
    this.#commit(draft(row.name, 'create'), options, () => {
      this.#deps.database.volumes.insert(row);
    });
    this.#rows.set(row.name, row);
  }

  /** Containers that use it, but for one that is on its way out. */
  #users(name: string, exceptContainer?: string): string[] {
    return this.#deps.users(name).filter((id) => id !== exceptContainer);
  }

  async #removeUnused(row: VolumeRow, exceptContainer?: string): Promise<void> {
    const { name } = row;
    await using rollback = new Rollback(this.#deps.log, { volume: name });
    await this.#mounts.settle(row, exceptContainer);
    const removal = await this.#deps.directories.beginRemove(name);
    rollback.defer('put the directory back', () => removal.undo());
    failpoint('volume.remove.renamed');
    // Somebody may have begun to use it while the directory was renamed.
    const users = this.#users(name, exceptContainer);
    if (users.length > 0) {
      throw conflict(`remove ${name}: volume is in use - [${users.join(', ')}]`);
    }
    this.#commit(draft(name, 'destroy'), { durable: true }, () => {
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
      throw notFound(`get ${name}: no such volume`);
    }
    return row;
  }

  #view(row: VolumeRow): VolumeView {
    return {
      CreatedAt: `${formatNano(row.createdNano).slice(0, 19)}Z`,
      Driver: row.driver,
      Labels: nullWhenEmpty(row.labels),
      Mountpoint: this.#deps.directories.mountpoint(row.name),
      Name: row.name,
      Options: nullWhenEmpty(row.options),
      Scope: 'local',
    };
  }

  #tell(name: string, action: string, attributes: Record<string, string>): void {
    this.#commit(draft(name, action, attributes), { durable: false }, nothing);
  }

  #commit(event: EventDraft, options: { durable: boolean }, change: () => void): void {
    this.#deps.journal.commit((emit) => {
      change();
      emit(event);
    }, options);
  }
}

function draft(name: string, action: string, attributes: Record<string, string> = {}): EventDraft {
  return { type: 'volume', action, actorId: name, attributes: { driver: DRIVER, ...attributes } };
}

function checkDriver(name: string, driver: string): void {
  if (driver !== '' && driver !== DRIVER) {
    throw notFound(
      `create ${name}: error looking up volume plugin ${driver}: plugin ${JSON.stringify(driver)} not found`,
    );
  }
}

function nullWhenEmpty(map: Record<string, string>): Record<string, string> | null {
  return Object.keys(map).length === 0 ? null : map;
}

/** No more than the event: who uses a volume is in the containers' rows. */
function nothing(): void {
  // See above.
}

/** Runs something synchronous so that what it throws becomes a rejection. */
async function settled<T>(run: () => T): Promise<T> {
  return run();
}

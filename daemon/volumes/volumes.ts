import type { Filters } from '../../api/types/requests.ts';
import type { VolumeCreateRequest, VolumePruneReport, VolumeView } from '../../api/types/system.ts';
import type { VolumeRow } from '../../storage/database/rows.ts';
import { newId } from '../base/ids.ts';
import { driverOf, volumeContext } from './context.ts';
import type { VolumeContext, VolumesDeps } from './context.ts';
import { createUnlessThere, reserveAnonymous } from './create.ts';
import type { VolumeCreateOptions, VolumeReservation } from './create.ts';
import type { VolumeDriver } from './driver.ts';
import { volumeFilter } from './filter.ts';
import type { ForeignVolume } from './foreign-volumes.ts';
import { LOCAL_DRIVER } from './local-driver.ts';
import { sizeLimit } from './mount-options.ts';
import { ANONYMOUS_LABEL } from './prune.ts';
import { noSuchVolume } from './volume-index.ts';
import { pruneVolumes, removeAnonymous, removeVolume } from './remove.ts';
import { volumeView } from './view.ts';

/**
 * The volumes of this engine: `VolumePort` of the API and `VolumeBinder` of the containers. All answers come from
 * memory; rows and events are written through the journal.
 *
 * INVARIANTS
 * - One operation per volume at a time (`locks`).
 * - A row is written after its directory is made and deleted after its directory is out of sight.
 */
export class Volumes {
  readonly #context: VolumeContext;

  constructor(deps: VolumesDeps) {
    this.#context = volumeContext(deps);
  }

  /** Reads the rows and finishes what an earlier daemon left. Once, before anything else. */
  async restore(): Promise<void> {
    const { registry, local, plugin, directories } = this.#context;
    registry.restore();
    plugin.restore();
    const namesOf = (isLocal: boolean): Set<string> =>
      new Set(
        registry
          .all()
          .filter(({ driver }) => (driver === LOCAL_DRIVER) === isLocal)
          .map(({ name }) => name),
      );
    await directories.restore(namesOf(true), namesOf(false));
    for (const row of registry.all().filter(({ driver }) => driver === LOCAL_DRIVER)) {
      await local.restore(row);
    }
  }

  /**
   * Once the containers are known: takes off the mounts that an earlier daemon left and no container uses. Those of
   * plugins in the background: one that is down must not hold up the start of the daemon.
   */
  async settle(): Promise<void> {
    const { registry, plugin, locks, log } = this.#context;
    plugin.settleMakings();
    for (const row of registry.all()) {
      const settled = locks.run(row.name, () => this.#driverOf(row).settle(row));
      const noted = settled.catch((error: unknown) => {
        log.error({ volume: row.name, err: error }, 'a volume could not be unmounted');
      });
      if (row.driver === LOCAL_DRIVER) {
        await noted;
      }
    }
  }

  // ---------------------------------------------------------------------------------------------- VolumePort

  /** Ours, and what plugins have beside them. A plugin that does not answer is a warning. */
  async list(filters: Filters): Promise<{ Volumes: VolumeView[]; Warnings: string[] | null }> {
    const { registry, foreign } = this.#context;
    const matches = volumeFilter(filters);
    const { volumes, warnings } = await foreign.list();
    const all = new Map(volumes.map((each) => [each.row.name, each]));
    for (const row of registry.all()) {
      const told = all.get(row.name);
      all.set(row.name, told?.row.driver === row.driver ? { ...told, row } : { row });
    }
    const found = [...all.values()]
      .filter(({ row }) => matches(row, this.#context.users(row.name).length > 0))
      .toSorted((a, b) => (a.row.name < b.row.name ? -1 : 1));
    return {
      Volumes: found.map((each) => this.#view(each)),
      Warnings: warnings.length === 0 ? null : warnings,
    };
  }

  async create(body: VolumeCreateRequest): Promise<VolumeView> {
    const unnamed = body.Name === undefined || body.Name === '';
    const { row } = await createUnlessThere(this.#context, body.Name || newId(), {
      ...(body.Driver ? { driver: body.Driver } : {}),
      driverOpts: body.DriverOpts ?? {},
      labels: { ...body.Labels, ...(unnamed ? { [ANONYMOUS_LABEL]: '' } : {}) },
      // Anonymous are only those that belong to one container: this one was asked for.
      anonymous: false,
      isOurName: unnamed,
    });
    return await this.#viewNow(row);
  }

  async inspect(name: string): Promise<VolumeView> {
    const row = this.#context.registry.find(name);
    if (row !== undefined) {
      return await this.#viewNow(row);
    }
    const foreign = await this.#context.foreign.find(name);
    if (foreign === undefined) {
      throw noSuchVolume(name);
    }
    return this.#view(foreign);
  }

  /** Volume drivers that can be named in requests now, for /info. */
  async drivers(): Promise<string[]> {
    return [LOCAL_DRIVER, ...(await this.#context.plugins.names())].toSorted();
  }

  remove(name: string, options: { force: boolean }): Promise<void> {
    return removeVolume(this.#context, name, options);
  }

  prune(filters: Filters): Promise<VolumePruneReport> {
    return pruneVolumes(this.#context, filters);
  }

  // ---------------------------------------------------------------------------------------------- VolumeBinder

  async ensure(
    name: string,
    options: VolumeCreateOptions,
  ): Promise<{ name: string; mountpoint: string; driver: string; created: boolean }> {
    const { row, created } = await createUnlessThere(this.#context, name, {
      ...options,
      labels: { ...options.labels, ...(options.anonymous ? { [ANONYMOUS_LABEL]: '' } : {}) },
    });
    return { name, mountpoint: this.#driverOf(row).mountpoint(row), driver: row.driver, created };
  }

  isLimited(name: string): boolean {
    const row = this.#context.registry.find(name);
    return row?.driver === LOCAL_DRIVER && sizeLimit(name, row.options) > 0;
  }

  driverOf(name: string): string | undefined {
    return this.#context.registry.find(name)?.driver;
  }

  reserveAnonymous(
    name: string,
    options: Omit<VolumeCreateOptions, 'anonymous'>,
  ): Promise<VolumeReservation> {
    return reserveAnonymous(this.#context, name, options);
  }

  populate(name: string, sourceRoot: string, sourcePath: string): Promise<void> {
    return this.#context.locks.run(name, () => {
      const row = this.#context.registry.get(name);
      return this.#driverOf(row).populate(row, sourceRoot, sourcePath);
    });
  }

  acquire(name: string, holder: string): Promise<string> {
    return this.#context.locks.run(name, () => {
      const row = this.#context.registry.get(name);
      return this.#driverOf(row).acquire(row, holder);
    });
  }

  release(name: string, holder: string): Promise<void> {
    return this.#context.locks.run(name, async () => {
      const row = this.#context.registry.find(name);
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
    this.#context.registry.tell(name, 'mount', {
      container: containerId,
      ...(mount && {
        destination: mount.destination,
        'read/write': String(mount.readWrite),
        propagation: mount.propagation,
      }),
    });
  }

  unmounted(name: string, containerId: string): void {
    this.#context.registry.tell(name, 'unmount', { container: containerId });
  }

  removeAnonymous(name: string, containerId: string): Promise<void> {
    return removeAnonymous(this.#context, name, containerId);
  }

  // ---------------------------------------------------------------------------------------------- inside

  #driverOf(volume: Pick<VolumeRow, 'driver'>): VolumeDriver {
    return driverOf(this.#context, volume);
  }

  /** With what its plugin says of it now. */
  async #viewNow(row: VolumeRow): Promise<VolumeView> {
    const { foreign } = this.#context;
    return this.#view(row.driver === LOCAL_DRIVER ? { row } : await foreign.describe(row));
  }

  #view(volume: ForeignVolume): VolumeView {
    return volumeView(volume, this.#driverOf(volume.row).mountpoint(volume.row));
  }
}

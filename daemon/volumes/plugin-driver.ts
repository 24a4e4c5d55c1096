import { createHash } from 'node:crypto';
import type { Database } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { isEngineError } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { KeyedMutex } from '../base/concurrency/mutex.ts';
import type { Journal } from '../events/journal-types.ts';
import type { Volume, VolumeDriver, VolumeRemoval } from './driver.ts';
import type { VolumeDirectories, VolumePluginPort } from './ports.ts';

export interface PluginDriverDeps {
  plugins: VolumePluginPort;
  journal: Pick<Journal, 'commit' | 'note'>;
  database: Pick<Database, 'volumeHolds' | 'volumeMakings'>;
  directories: Pick<VolumeDirectories, 'populateAt' | 'forgetFilling'>;
  /** Ids of the containers that run with this volume. */
  liveUsers(volumeName: string): readonly string[];
  /** One operation per volume at a time. */
  locks: KeyedMutex;
  clock: Clock;
  log: Logger;
}

interface Hold {
  /** Where it is mounted; '' = asked for. */
  mountpoint: string;
  /** False: to be released, or left by an earlier daemon. */
  isOurs: boolean;
}

/** Copying up holds the volume for itself when no container does. */
const POPULATE = 'populate';
const CONTAINER_ID = /^[0-9a-f]{64}$/;

/**
 * Volumes that plugins keep. A plugin counts its mounts by the ids it was given, and cannot be asked for them: the
 * holder is noted in the database before the plugin is asked to mount, and until it has unmounted. So a daemon that
 * died leaves no mount for a container that has ended and takes none from one that runs; a plugin that was away is
 * asked again.
 */
export class PluginDriver implements VolumeDriver {
  readonly #deps: PluginDriverDeps;
  /** Volume -> holder. */
  readonly #holds = new Map<string, Map<string, Hold>>();
  /** Volumes that this daemon asked plugins to create; they may be there. */
  readonly #made = new Set<string>();
  /** Where plugins said that volumes are. */
  readonly #paths = new Map<string, string>();

  constructor(deps: PluginDriverDeps) {
    this.#deps = deps;
  }

  /** Reads what an earlier daemon noted. Once, before anything else. */
  restore(): void {
    for (const { volume, holder, mountpoint } of this.#deps.database.volumeHolds.all()) {
      this.#holdsOf(volume).set(holder, { mountpoint, isOurs: false });
      if (mountpoint !== '') {
        this.#paths.set(volume, mountpoint);
      }
    }
  }

  /** Every option is the plugin's to judge. */
  check(): void {
    // See above.
  }

  async create({ driver, name, options }: Volume, { isOurName }: { isOurName: boolean }): Promise<void> {
    const { plugins, database } = this.#deps;
    if (isOurName) {
      this.#deps.journal.commit(() => database.volumeMakings.add({ volume: name, driver }));
    }
    failpoint('volume.plugin.create');
    this.#made.add(name);
    try {
      await plugins.create(driver, name, options);
    } catch (error) {
      if (isRefusal(error)) {
        // Then it made nothing; what is there under this name is not the engine's.
        this.#made.delete(name);
      }
      throw error;
    }
    failpoint('volume.plugin.created');
    this.#paths.set(name, await plugins.path(driver, name));
  }

  /** The row is written: what comes now is a removal. Within its transaction. */
  stored({ name }: Volume): void {
    this.#deps.database.volumeMakings.remove(name);
  }

  async undoCreate({ driver, name }: Volume): Promise<void> {
    if (this.#made.has(name)) {
      await this.#removeIfThere(driver, name);
    }
    this.#noteUnmade(name);
    this.#forget(name);
  }

  /** Removes volumes that an earlier daemon made and died before it stored their rows. In the background of a start. */
  settleMakings(): void {
    for (const { volume: name, driver } of this.#deps.database.volumeMakings.all()) {
      this.#unmake({ name, driver }, 1);
    }
  }

  async beginRemove({ driver, name }: Volume): Promise<VolumeRemoval> {
    const { plugins } = this.#deps;
    return {
      destroy: async () => {
        try {
          failpoint('volume.plugin.remove');
          await plugins.remove(driver, name);
        } catch (error) {
          // A daemon that died between this and the row comes here again.
          if ((await plugins.get(driver, name, { brief: false })) !== undefined) {
            throw error;
          }
        }
        failpoint('volume.plugin.removed');
      },
      finish: async () => {
        this.#forget(name);
        await this.#deps.directories.forgetFilling(name);
      },
      undo: () => Promise.resolve(),
    };
  }

  mountpoint({ name }: Volume): string {
    return this.#paths.get(name) ?? '';
  }

  async acquire(volume: Volume, holder: string): Promise<string> {
    const { plugins } = this.#deps;
    const { driver, name } = volume;
    const before = this.#holdsOf(name).get(holder);
    if (before !== undefined && before.mountpoint !== '' && this.#isWanted(name, holder)) {
      return before.mountpoint;
    }
    if (before !== undefined) {
      // Left by a run of which the plugin could not be told that it ended: two mounts for one id are one too many.
      await this.#tryToRelease(volume, holder);
    }
    this.#hold(name, holder, '');
    try {
      failpoint('volume.plugin.mount');
      const mountpoint = await plugins.mount(driver, name, idOf(holder));
      failpoint('volume.plugin.mounted');
      this.#hold(name, holder, mountpoint);
      this.#paths.set(name, mountpoint);
      return mountpoint;
    } catch (error) {
      if (isRefusal(error)) {
        this.#drop(name, holder);
      } else {
        // It may have mounted all the same: too late, at a place that makes no sense, or where it could not be noted.
        await this.release(volume, holder);
      }
      throw error;
    }
  }

  /** Never waits for more than one answer: a plugin that does not unmount now is asked again in the background. */
  async release(volume: Volume, holder: string): Promise<void> {
    const hold = this.#holdsOf(volume.name).get(holder);
    if (hold === undefined) {
      return;
    }
    hold.isOurs = false;
    if (!(await this.#tryToRelease(volume, holder))) {
      this.#releaseLater(volume, holder, 1);
    }
  }

  async settle(volume: Volume, exceptHolder?: string): Promise<void> {
    // A copy: those that are released leave it.
    for (const holder of Array.from(this.#holdsOf(volume.name).keys())) {
      if (holder === exceptHolder || !this.#isWanted(volume.name, holder)) {
        await this.release(volume, holder);
      }
    }
  }

  async populate(volume: Volume, sourceRoot: string, sourcePath: string): Promise<void> {
    const { directories } = this.#deps;
    const { name } = volume;
    const held = [...this.#holdsOf(name)].find(
      ([holder, { mountpoint }]) => mountpoint !== '' && this.#isWanted(name, holder),
    );
    if (held !== undefined) {
      await directories.populateAt(held[1].mountpoint, name, sourceRoot, sourcePath);
      return;
    }
    const mountpoint = await this.acquire(volume, POPULATE);
    try {
      await directories.populateAt(mountpoint, name, sourceRoot, sourcePath);
    } finally {
      await this.release(volume, POPULATE);
    }
  }

  #isLive(name: string, holder: string): boolean {
    return this.#deps.liveUsers(name).includes(holder);
  }

  #isWanted(name: string, holder: string): boolean {
    return this.#holdsOf(name).get(holder)?.isOurs === true || this.#isLive(name, holder);
  }

  #holdsOf(name: string): Map<string, Hold> {
    const holds = this.#holds.get(name) ?? new Map<string, Hold>();
    this.#holds.set(name, holds);
    return holds;
  }

  /** Before the plugin is asked, and when it has answered: without the row it would not be asked to unmount. */
  #hold(name: string, holder: string, mountpoint: string): void {
    const { journal, database } = this.#deps;
    journal.commit(() => database.volumeHolds.set({ volume: name, holder, mountpoint }));
    this.#holdsOf(name).set(holder, { mountpoint, isOurs: true });
  }

  /** From here on it may be unmounted: the next daemon is not to believe that it is there. */
  #noteUnmounting(volume: string, holder: string): void {
    const { journal, database } = this.#deps;
    journal.note([], {
      key: holdKey(volume, holder),
      write: () => database.volumeHolds.set({ volume, holder, mountpoint: '' }),
    });
  }

  #drop(name: string, holder: string): void {
    const { journal, database } = this.#deps;
    this.#holdsOf(name).delete(holder);
    journal.note([], {
      key: holdKey(name, holder),
      write: () => database.volumeHolds.remove(name, holder),
    });
  }

  #noteUnmade(name: string): void {
    const { journal, database } = this.#deps;
    journal.note([], {
      key: `volume-making/${name}`,
      write: () => database.volumeMakings.remove(name),
    });
  }

  #forget(name: string): void {
    this.#made.delete(name);
    this.#holds.delete(name);
    this.#paths.delete(name);
  }

  /** False when the plugin did not; it is still noted then. */
  async #tryToRelease({ driver, name }: Volume, holder: string): Promise<boolean> {
    const { plugins, log } = this.#deps;
    const isSure = this.#holdsOf(name).get(holder)?.mountpoint !== '';
    this.#noteUnmounting(name, holder);
    try {
      failpoint('volume.plugin.unmount');
      await plugins.unmount(driver, name, idOf(holder));
      failpoint('volume.plugin.unmounted');
    } catch (error) {
      log.warn({ volume: name, holder, err: error }, 'a volume plugin did not unmount');
      // A plugin that refuses to unmount what may never have been mounted is right.
      if (isSure || !isRefusal(error)) {
        return false;
      }
    }
    this.#drop(name, holder);
    return true;
  }

  async #removeIfThere(driver: string, name: string): Promise<void> {
    const { plugins } = this.#deps;
    if ((await plugins.get(driver, name, { brief: false })) !== undefined) {
      await plugins.remove(driver, name);
    }
  }

  #unmake(volume: Pick<Volume, 'name' | 'driver'>, attempt: number): void {
    const { clock, locks, log } = this.#deps;
    const { name, driver } = volume;
    const unmade = locks.run(name, async () => {
      failpoint('volume.plugin.unmake');
      await this.#removeIfThere(driver, name);
      this.#noteUnmade(name);
    });
    void unmade.catch((error: unknown) => {
      log.warn({ volume: name, driver, err: error }, 'a volume that was never finished could not be removed');
      if (attempt < limits.pluginUnmountTriesMax) {
        clock.setTimeout(() => this.#unmake(volume, attempt + 1), delayMsOf(attempt));
      }
    });
  }

  #releaseLater(volume: Volume, holder: string, attempt: number): void {
    const { clock, locks, log } = this.#deps;
    if (attempt > limits.pluginUnmountTriesMax) {
      log.error({ volume: volume.name, holder }, 'a volume plugin is not asked any more to unmount');
      return;
    }
    clock.setTimeout(() => {
      const released = locks.run(volume.name, async () => {
        const isLeft = this.#holdsOf(volume.name).has(holder) && !this.#isWanted(volume.name, holder);
        if (isLeft && !(await this.#tryToRelease(volume, holder))) {
          this.#releaseLater(volume, holder, attempt + 1);
        }
      });
      void released.catch((error: unknown) => {
        log.error(
          { volume: volume.name, holder, err: error },
          'a volume plugin is not asked any more to unmount',
        );
      });
    }, delayMsOf(attempt));
  }
}

function delayMsOf(attempt: number): number {
  return Math.min(limits.pluginUnmountRetryMs * 2 ** (attempt - 1), limits.pluginUnmountRetryMaxMs);
}

function holdKey(volume: string, holder: string): string {
  return `volume-hold/${volume}/${holder}`;
}

/** The plugin itself refused, and so did nothing. */
function isRefusal(error: unknown): boolean {
  return isEngineError(error) && error.details['isRefusal'] === true;
}

/** Plugins make file names of it. */
function idOf(holder: string): string {
  return CONTAINER_ID.test(holder) ? holder : createHash('sha256').update(holder).digest('hex');
}

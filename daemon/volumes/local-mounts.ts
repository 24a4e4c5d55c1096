import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { VolumeRow } from '../../storage/database/rows.ts';
import type { VolumeMountPlan } from '../../storage/volumes/volume-mount.ts';
import { errorText, internal } from '../base/errors.ts';
import { addressOption, mountPlan, withAddress } from './mount-options.ts';
import type { VolumeDirectories } from './ports.ts';

type Volume = Pick<VolumeRow, 'name' | 'options'>;

export interface LocalMountsDeps {
  directories: Pick<VolumeDirectories, 'mountpoint' | 'mount' | 'unmount' | 'populate' | 'populateAt'>;
  /** Ids of the containers that run with this volume. */
  liveUsers(volumeName: string): readonly string[];
}

/**
 * File systems of volumes with driver options: mounted while the volume is held. Its holders are those that took it
 * here, and the containers that run with it, so that a restart of the daemon changes nothing. The caller keeps one
 * operation per volume at a time.
 */
export class LocalMounts {
  readonly #deps: LocalMountsDeps;
  readonly #holders = new Map<string, Set<string>>();

  constructor(deps: LocalMountsDeps) {
    this.#deps = deps;
  }

  /** From here on the volume's directory shows what it is to show. Idempotent for a holder. */
  async acquire({ name, options }: Volume, holder: string): Promise<void> {
    const plan = mountPlan(options);
    if (plan !== undefined) {
      await this.#deps.directories.mount(name, await resolved(name, plan));
      this.#holders.set(name, (this.#holders.get(name) ?? new Set()).add(holder));
    }
  }

  /** Idempotent. */
  async release(volume: Volume, holder: string): Promise<void> {
    this.#holders.get(volume.name)?.delete(holder);
    await this.settle(volume, holder);
  }

  /** Takes the mount off when it has no holder. `exceptHolder` is about to release it. */
  async settle({ name, options }: Volume, exceptHolder?: string): Promise<void> {
    const holders = [...(this.#holders.get(name) ?? []), ...this.#deps.liveUsers(name)];
    if (mountPlan(options) !== undefined && holders.every((holder) => holder === exceptHolder)) {
      await this.#deps.directories.unmount(name);
      this.#holders.delete(name);
    }
  }

  /** Fills an empty volume; one of a file system of its own is mounted for it. */
  async populate(volume: Volume, sourceRoot: string, sourcePath: string): Promise<void> {
    const { directories } = this.#deps;
    if (mountPlan(volume.options) === undefined) {
      await directories.populate(volume.name, sourceRoot, sourcePath);
      return;
    }
    await this.acquire(volume, 'populate');
    try {
      const { name } = volume;
      await directories.populateAt(directories.mountpoint(name), name, sourceRoot, sourcePath);
    } finally {
      await this.release(volume, 'populate');
    }
  }
}

/** The kernel takes no names for the servers of its file systems. */
async function resolved(name: string, plan: VolumeMountPlan): Promise<VolumeMountPlan> {
  const host = addressOption(plan);
  if (host === undefined || isIP(host) !== 0) {
    return plan;
  }
  try {
    return withAddress(plan, (await lookup(host)).address);
  } catch (error) {
    throw internal(`error resolving passed in network volume address: ${name}: ${errorText(error)}`, {
      cause: error,
    });
  }
}

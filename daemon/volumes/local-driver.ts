import type { Volume, VolumeDriver, VolumeRemoval } from './driver.ts';
import { LocalMounts } from './local-mounts.ts';
import type { LocalMountsDeps } from './local-mounts.ts';
import { checkLocalOptions } from './mount-options.ts';
import type { VolumeDirectories } from './ports.ts';

export const LOCAL_DRIVER = 'local';

/** Volumes as directories of the data root, some with a file system of their own. */
export class LocalDriver implements VolumeDriver {
  readonly #directories: VolumeDirectories;
  readonly #mounts: LocalMounts;

  constructor(deps: LocalMountsDeps & { directories: VolumeDirectories }) {
    this.#directories = deps.directories;
    this.#mounts = new LocalMounts(deps);
  }

  check(name: string, options: Readonly<Record<string, string>>): void {
    checkLocalOptions(name, options);
  }

  create({ name }: Volume): Promise<void> {
    return this.#directories.create(name);
  }

  undoCreate({ name }: Volume): Promise<void> {
    return this.#directories.undoCreate(name);
  }

  beginRemove({ name }: Volume): Promise<VolumeRemoval> {
    return this.#directories.beginRemove(name);
  }

  mountpoint({ name }: Volume): string {
    return this.#directories.mountpoint(name);
  }

  async acquire(volume: Volume, holder: string): Promise<string> {
    await this.#mounts.acquire(volume, holder);
    return this.mountpoint(volume);
  }

  release(volume: Volume, holder: string): Promise<void> {
    return this.#mounts.release(volume, holder);
  }

  settle(volume: Volume, exceptHolder?: string): Promise<void> {
    return this.#mounts.settle(volume, exceptHolder);
  }

  populate(volume: Volume, sourceRoot: string, sourcePath: string): Promise<void> {
    return this.#mounts.populate(volume, sourceRoot, sourcePath);
  }
}

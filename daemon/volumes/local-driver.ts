import { errorText, invalidArgument } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Volume, VolumeDriver, VolumeRemoval } from './driver.ts';
import { LocalMounts } from './local-mounts.ts';
import type { LocalMountsDeps } from './local-mounts.ts';
import { checkLocalOptions, sizeLimit } from './mount-options.ts';
import type { VolumeDirectories } from './ports.ts';

export const LOCAL_DRIVER = 'local';

/** Volumes as directories of the data root, some with a file system of their own. */
export class LocalDriver implements VolumeDriver {
  readonly #directories: VolumeDirectories;
  readonly #mounts: LocalMounts;
  readonly #log: Logger;

  constructor(deps: LocalMountsDeps & { directories: VolumeDirectories; log: Logger }) {
    this.#directories = deps.directories;
    this.#log = deps.log;
    this.#mounts = new LocalMounts(deps);
  }

  check(name: string, options: Readonly<Record<string, string>>): void {
    checkLocalOptions(name, options);
    const obstacle = sizeLimit(name, options) > 0 ? this.#directories.quotaObstacle() : undefined;
    if (obstacle !== undefined) {
      throw invalidArgument(`create ${name}: quota size requested but no quota support: ${obstacle}`);
    }
  }

  create({ name, options }: Volume): Promise<void> {
    return this.#directories.create(name, sizeLimit(name, options));
  }

  /**
   * After a start. A volume whose size cannot be limited any more (a disk mounted otherwise) goes on without limit, and
   * is logged.
   */
  async restore({ name, options }: Volume): Promise<void> {
    const size = sizeLimit(name, options);
    if (size > 0) {
      try {
        await this.#directories.limit(name, size);
      } catch (error) {
        this.#log.error({ volume: name, err: errorText(error) }, 'the size of a volume is not limited');
      }
    }
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

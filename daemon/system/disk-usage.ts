import type { ContainerSummary } from '../../api/types/container.ts';
import type { ImageSummary } from '../../api/types/image.ts';
import type {
  BuildCacheItem,
  DiskUsage,
  DiskUsageType,
  UsedVolume,
  VolumeView,
} from '../../api/types/system.ts';

/** What `GET /system/df` asks of the others. */
export interface DiskUsageDeps {
  /** Bytes of all layers of images. */
  layersBytes(): number;
  /** With the bytes that each shares with others. */
  images(): Promise<ImageSummary[]>;
  containersOfImage(imageId: string): number;
  /** With sizes. */
  containers(): Promise<ContainerSummary[]>;
  volumes(): Promise<VolumeView[]>;
  containersOfVolume(name: string): number;
  buildCache(): BuildCacheItem[];
  /** Bytes below directories, counted on another thread; null = it is not there. */
  sizes(directories: readonly string[]): Promise<(number | null)[]>;
}

/**
 * How much of the disk everything takes. Each kind is counted once at a time: all requests that come while it is being
 * counted get the same answer.
 */
export class DiskUsages {
  readonly #deps: DiskUsageDeps;
  readonly #images = new Shared(() => this.#readImages());
  readonly #containers = new Shared(() => this.#deps.containers());
  readonly #volumes = new Shared(() => this.#readVolumes());

  constructor(deps: DiskUsageDeps) {
    this.#deps = deps;
  }

  /** Kinds that were not asked for are null. */
  async read(types: ReadonlySet<DiskUsageType>): Promise<DiskUsage> {
    const [Images, Containers, Volumes] = await Promise.all([
      types.has('image') ? this.#images.get() : null,
      types.has('container') ? this.#containers.get() : null,
      types.has('volume') ? this.#volumes.get() : null,
    ]);
    return {
      LayersSize: types.has('image') ? this.#deps.layersBytes() : 0,
      Images,
      Containers,
      Volumes,
      BuildCache: types.has('build-cache') ? this.#deps.buildCache() : null,
    };
  }

  async #readImages(): Promise<ImageSummary[]> {
    const images = await this.#deps.images();
    return images.map((image) => ({ ...image, Containers: this.#deps.containersOfImage(image.Id) }));
  }

  async #readVolumes(): Promise<UsedVolume[]> {
    const volumes = await this.#deps.volumes();
    // What plugins keep may be on other machines.
    const local = volumes.filter(({ Driver }) => Driver === 'local');
    const bytes = await this.#deps.sizes(local.map(({ Mountpoint }) => Mountpoint));
    const sizes = new Map(local.map(({ Name }, index) => [Name, bytes[index]]));
    return volumes.map((volume) => ({
      ...volume,
      UsageData: { Size: sizes.get(volume.Name) ?? -1, RefCount: this.#deps.containersOfVolume(volume.Name) },
    }));
  }
}

/** Work whose answer goes to all callers that ask while it goes on. */
class Shared<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  async get(): Promise<T> {
    this.#running ??= this.#work();
    try {
      return await this.#running;
    } finally {
      this.#running = undefined;
    }
  }
}

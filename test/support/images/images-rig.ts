/** The image domain over a real database, real disk and real threads, without a daemon around it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { ProgressMessage } from '../../../api/types/image.ts';
import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import type { EventDraft } from '../../../daemon/events/journal-types.ts';
import type { ImageUser, RegistryUse } from '../../../daemon/images/deps.ts';
import { Images } from '../../../daemon/images/images.ts';
import { openDatabase, type SqliteDatabase } from '../../../storage/database/index.ts';
import { Removals } from '../../../storage/files/remove/removals.ts';
import { removeTree } from '../../../storage/files/remove/remove-tree.ts';
import { LayerStore } from '../../../storage/layers/store.ts';
import { LayerWorkers } from '../../../storage/layers/workers/layer-workers.ts';
import { SpoolDirectory } from '../../../storage/spool/spool.ts';

export class ImagesRig implements AsyncDisposable {
  readonly dataRoot: string;
  database: SqliteDatabase;
  readonly layers: LayerStore;
  readonly events: EventDraft[] = [];
  /** Containers that use images, by image id; tests fill it. */
  readonly users = new Map<string, ImageUser[]>();
  /** How registries are reached; tests change it. */
  registry: RegistryUse = {
    settings: { insecure: [], mirrors: [] },
    certificateRoots: [],
    downloadsMax: 3,
    uploadsMax: 5,
  };
  /** Tests change it, as a restart of the machine does. */
  bootId = 'first-boot';
  readonly #workers: LayerWorkers;
  readonly #removals = new Removals();
  images: Images;

  constructor(dataRoot: string, remove = removeAtOnce) {
    this.dataRoot = dataRoot;
    this.database = this.#open();
    this.#workers = new LayerWorkers();
    this.layers = new LayerStore({
      dataRoot,
      workers: this.#workers,
      removeTree: (path) => this.#removals.track(remove(path)),
      removals: this.#removals,
      log: silentLogger,
    });
    this.images = this.#build();
  }

  /** `remove` deletes a layer's directory. */
  static async create(remove?: (path: string) => Promise<void>): Promise<ImagesRig> {
    const rig = new ImagesRig(await mkdtemp(join(tmpdir(), 'berth-images-')), remove);
    await rig.images.restore();
    return rig;
  }

  /** What a daemon started again would see. `meanwhile` has the data root to itself. */
  async restart(meanwhile: () => void = () => undefined): Promise<void> {
    this.database.close();
    meanwhile();
    this.database = this.#open();
    this.images = this.#build();
    await this.images.restore();
  }

  /** Loads a tarball and answers all messages. */
  async load(tarball: Buffer, options: { quiet?: boolean } = {}): Promise<ProgressMessage[]> {
    const signal = new AbortController().signal;
    const messages = this.images.load(inPieces(tarball), { quiet: options.quiet ?? true, signal });
    return await collect(messages);
  }

  async save(...refs: string[]): Promise<Buffer> {
    const stream = await this.images.save(refs, { signal: new AbortController().signal });
    return Buffer.concat(await collect(stream));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workers[Symbol.asyncDispose]();
    this.database.close();
    await rm(this.dataRoot, { recursive: true, force: true });
  }

  #open(): SqliteDatabase {
    return openDatabase(join(this.dataRoot, 'berth.db'), silentLogger);
  }

  #build(): Images {
    return new Images({
      database: this.database,
      journal: {
        commit: (change, options) => {
          const drafts: EventDraft[] = [];
          const result = this.database.transaction(() => change((draft) => drafts.push(draft)), options);
          this.events.push(...drafts);
          return result;
        },
        note: (drafts) => this.events.push(...drafts),
        settle: () => undefined,
        tell: (draft) => this.events.push(draft),
      },
      layers: this.layers,
      spools: new SpoolDirectory(this.dataRoot, () => this.#removals.ended()),
      clock: systemClock,
      log: silentLogger,
      registry: () => this.registry,
      ownHub: () => undefined,
      engineVersion: 'test',
      bootId: this.bootId,
      users: (imageId) => this.users.get(imageId) ?? [],
    });
  }
}

/** Gone when it returns: what the engine deletes in the background needs no waiting for in these tests. */
async function removeAtOnce(path: string): Promise<void> {
  removeTree(path);
}

/** Everything an async iterable gives. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) {
    all.push(item);
  }
  return all;
}

/** As a socket delivers it: in pieces that begin and end anywhere. */
export function inPieces(bytes: Buffer, size = 60_001): Readable {
  return Readable.from(
    (function* pieces() {
      for (let offset = 0; offset < bytes.length; offset += size) {
        yield bytes.subarray(offset, offset + size);
      }
    })(),
    { objectMode: false },
  );
}

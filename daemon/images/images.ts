import type { Readable } from 'node:stream';
import type { ContainerConfig } from '../../api/types/container.ts';
import type {
  AttestationStatement,
  BuildPruneReport,
  ImageDeleteItem,
  ImageHistoryItem,
  ImageInspect,
  ImagePlatform,
  LegacyImage,
  ImagePruneReport,
  ImageSummary,
  ProgressMessage,
} from '../../api/types/image.ts';
import type { BuildPort, ImportOptions, PullOptions, PushOptions } from '../../api/types/ports.ts';
import type { Filters } from '../../api/types/requests.ts';
import type { BuildLayers, ClassicSteps } from '../build/ports.ts';
import { buildImage } from './build/build.ts';
import type { CacheLayers } from '../build/cache/exchange/ports.ts';
import { buildLayers } from './build/build-layers.ts';
import { cacheLayers } from './build/cache/cache-layers.ts';
import { classicSteps } from './build/classic-steps.ts';
import type { BuildDeps, ClassicDeps } from './build/ports.ts';
import { pruneBuilds } from './build/prune.ts';
import { planCommit, type CommitPlan, type CommitRequest } from './commit/commit-container.ts';
import { isEngineError } from '../base/errors.ts';
import { measured, measuredMessages } from '../base/measured.ts';
import { KeyedMutex } from '../base/concurrency/mutex.ts';
import type { LayerRow } from '../../storage/database/rows.ts';
import { tryParseReference } from '../../storage/references/reference.ts';
import type { ImagesDeps } from './deps.ts';
import { HubLayers } from './hub/hub-layers.ts';
import { digestName, ImageIndex, type ImageRecord } from './image-index.ts';
import { importImage } from './load/import.ts';
import { LayerCollector } from './load/layer-collector.ts';
import { dropUnsynced } from './load/drop-unsynced.ts';
import { UnsyncedLayers } from './load/unsynced-layers.ts';
import { LayerPins } from './layer-pins.ts';
import { listImages } from './list.ts';
import { listOfNames, shownDescriptor, shownManifests, summaryDescriptor } from './lists/show-list.ts';
import { shownStatements } from './lists/show-statements.ts';
import { removePlatforms } from './lists/leave-list.ts';
import { identityOf } from './manifests.ts';
import type { ImageContext } from './context.ts';
import { loadImages } from './load/load.ts';
import type { PullContext } from './pull/fetched-layers.ts';
import { tellingFailure, type FailedPull } from './pull/failed-pull.ts';
import { LayerFetches } from './pull/layer-fetches.ts';
import { pullImages } from './pull/pull.ts';
import { receiveImage, type ReceivableImage } from './pull/receive.ts';
import { pushImages } from './push/push.ts';
import { pruneImages } from './remove/prune.ts';
import { removeImage } from './remove/removal.ts';
import { nameImage, parseTarget } from './naming.ts';
import { savedTar } from './save/save.ts';
import { sharedImage, type SharedImage, type WantedImage } from './shared-image.ts';
import { Semaphore } from '../base/concurrency/semaphore.ts';
import { imageFor, ofPlatform } from './platform-asked.ts';
import { legacyImage, runConfig, toHistory, toInspect } from './wire.ts';

/** An image that a container is to be made of. */
export interface ResolvedImage {
  id: string;
  /** Bottom first. */
  layerIds: number[];
  config: ContainerConfig;
  os: string;
  architecture: string;
}

/**
 * The engine's images: ImagePort of api/types/ports.ts, ImageCatalog of daemon/containers/ports.ts. Reads are answered
 * from memory; changes are one transaction each, with their events.
 */
export class Images {
  readonly #deps: ImagesDeps;
  readonly #index = new ImageIndex();
  readonly #pins = new LayerPins();
  readonly #collector: LayerCollector;
  readonly #unsynced: UnsyncedLayers;
  readonly #fetches: LayerFetches;
  readonly #commits = new KeyedMutex();
  readonly #uploads: Semaphore;
  #pullFailed: ((failed: FailedPull) => void) | undefined;
  /** What the hub of this host has of this engine's layers. */
  readonly hubLayers: HubLayers;

  constructor(deps: ImagesDeps) {
    this.#deps = deps;
    this.#collector = new LayerCollector({ ...deps, index: this.#index, pins: this.#pins });
    this.#unsynced = new UnsyncedLayers(deps);
    this.#fetches = new LayerFetches(deps);
    this.#uploads = new Semaphore(() => deps.registry().uploadsMax);
    this.hubLayers = new HubLayers(this.#context());
  }

  /**
   * Once at start, before anything else: makes the directories, reads the rows, removes what a crash left (layer
   * directories without a row, rows without a user, spools).
   */
  async restore(): Promise<void> {
    const { layers, spools, database, log } = this.#deps;
    await layers.prepare();
    await spools.prepare();
    this.#index.load(database, log);
    for (const id of await layers.sweep(this.#index.layerIds())) {
      this.#index.setLost(id);
      log.error({ layer: this.#index.layer(id).diffId }, 'layer lost: pull or load its image again');
    }
    await dropUnsynced(this.#context());
    try {
      await this.#collector.collect();
    } catch (error) {
      // A full disk: no image refers to them, and the next removal or start collects them.
      log.error({ err: error }, 'layers that nothing refers to could not be removed');
    }
  }

  list(options: {
    all: boolean;
    filters: Filters;
    sharedSize: boolean;
    digests: boolean;
    manifests?: boolean;
    identity?: boolean;
  }): Promise<ImageSummary[]> {
    const { all, filters, sharedSize, manifests = false, identity = false } = options;
    const nowNano = this.#deps.clock.nowNano();
    // `digests` has no effect since 1.24: they are always listed.
    return asPromise(() =>
      listImages(this.#index, {
        all,
        filters,
        sharedSize,
        nowNano,
        containers: (imageId) => this.#deps.users(imageId).length,
        descriptor: (image) => summaryDescriptor(this.#context(), image),
        ...(manifests && {
          manifests: (image) =>
            shownManifests(this.#context(), image, {
              list: listOfNames(this.#context(), image.row.id),
              identity,
            }),
        }),
      }),
    );
  }

  /** How many images there are, for GET /info. */
  get count(): number {
    return [...this.#index.images()].length;
  }

  /** The layers of all images and their bytes, each counted once however many images have it. */
  get layers(): { count: number; bytes: number } {
    const ids = new Set([...this.#index.images()].flatMap(({ row }) => row.layerIds));
    const bytes = [...ids].reduce((total, id) => total + this.#index.layer(id).sizeBytes, 0);
    return { count: ids.size, bytes };
  }

  inspect(
    ref: string,
    { platform, manifests = false }: { platform?: ImagePlatform; manifests?: boolean } = {},
  ): Promise<ImageInspect> {
    return asPromise(() => {
      const image = imageFor(this.#index, ref, platform);
      const { layers } = this.#deps;
      const { id: imageId } = image.row;
      const digests = this.#index.digestsOf(imageId).map((digest) => digestName(digest));
      const inspect = toInspect(
        image,
        { tags: this.#index.namesOf(imageId), digests },
        {
          parentId: this.#index.parentOf(imageId)?.row.id ?? '',
          layers: this.#layersOf(image),
          directory: (id) => layers.directory(id),
          diff: (id) => layers.diff(id),
        },
      );
      const list = this.#index.listNamed(ref);
      const isByPlatform = platform !== undefined;
      const descriptor = shownDescriptor(this.#context(), image, { list, isByPlatform });
      return {
        ...inspect,
        ...(descriptor && { Descriptor: descriptor }),
        ...(manifests && {
          Manifests: shownManifests(this.#context(), image, { list, identity: false }),
        }),
        ...identityOf(this.#index, imageId),
      };
    });
  }

  /** What older versions of the API tell of it beside. */
  legacy(ref: string, { platform }: { platform?: ImagePlatform } = {}): Promise<LegacyImage> {
    return asPromise(() => {
      const image = imageFor(this.#index, ref, platform);
      return legacyImage(image, this.#index.parentOf(image.row.id)?.row.id ?? '');
    });
  }

  attestations(
    ref: string,
    { platform, ...asked }: { platform?: ImagePlatform; types: readonly string[]; statement: boolean },
  ): Promise<AttestationStatement[]> {
    return asPromise(() => {
      const image = imageFor(this.#index, ref, platform);
      return shownStatements(this.#context(), image, { list: this.#index.listNamed(ref), ...asked });
    });
  }

  history(ref: string, { platform }: { platform?: ImagePlatform } = {}): Promise<ImageHistoryItem[]> {
    return asPromise(() => {
      const image = imageFor(this.#index, ref, platform);
      const lineage = this.#index
        .lineageOf(image)
        .map(({ row }) => ({ id: row.id, names: this.#index.namesOf(row.id) }));
      return toHistory(image, lineage, this.#layersOf(image));
    });
  }

  tag(ref: string, target: { repo: string; tag: string }): Promise<void> {
    return asPromise(() => {
      const reference = parseTarget(target.repo, target.tag);
      const image = this.#index.find(ref);
      nameImage(this.#context(), image.row.id, [reference], this.#index.listNamed(ref)?.id);
    });
  }

  remove(
    ref: string,
    options: { force: boolean; noprune: boolean; platforms?: readonly ImagePlatform[] },
  ): Promise<ImageDeleteItem[]> {
    const { platforms = [], ...rest } = options;
    return measured('image', 'delete', () =>
      platforms.length === 0
        ? removeImage(this.#context(), ref, rest)
        : removePlatforms(this.#context(), ref, { ...rest, platforms }),
    );
  }

  prune(filters: Filters): Promise<ImagePruneReport> {
    return pruneImages(this.#context(), filters);
  }

  load(
    tar: Readable,
    options: { quiet: boolean; platforms?: readonly ImagePlatform[]; signal: AbortSignal },
  ): AsyncIterable<ProgressMessage> {
    return timed('load', loadImages(this.#context(), tar, options));
  }

  pull(options: PullOptions): AsyncIterable<ProgressMessage> {
    const messages = pullImages(this.#pullContext(), options);
    return timed('pull', tellingFailure(messages, options, this.#pullFailed));
  }

  /** Told from then on of pulls that fail. Must not throw. */
  whenPullFails(told: (failed: FailedPull) => void): void {
    this.#pullFailed = told;
  }

  /** For other engines. Undefined where there is none of that name or id, or not all of it. */
  share(ref: string, wanted?: WantedImage): SharedImage | undefined {
    return sharedImage(this.#context(), ref, wanted);
  }

  /** Brings an image that other engines have, as a pull of that name would. */
  receive(name: string, image: ReceivableImage, options: { signal: AbortSignal }): Promise<void> {
    return measured('image', 'pull', () =>
      receiveImage(this.#pullContext(), { name, image }, options.signal),
    );
  }

  push(name: string, options: PushOptions): AsyncIterable<ProgressMessage> {
    return timed(
      'push',
      pushImages({ ...this.#context(), slots: this.#uploads, hubLayers: this.hubLayers }, name, options),
    );
  }

  import(source: Readable | string, options: ImportOptions): AsyncIterable<ProgressMessage> {
    return timed('import', importImage(this.#context(), source, options));
  }

  /** What builds images, once there are containers for it. */
  builder(deps: BuildDeps & ClassicDeps): Pick<BuildPort, 'build'> & {
    prune(filters: Filters): Promise<BuildPruneReport>;
  } {
    const pull = (options: PullOptions): AsyncIterable<ProgressMessage> => this.pull(options);
    const context = { ...deps, images: this.#context(), pull };
    return {
      build: (tar, request) =>
        measuredMessages('builder', 'build', buildImage(context, tar, request), ({ error }) => error),
      prune: (filters) => pruneBuilds(context.images, filters),
    };
  }

  /** Layers without images, for builds that are solved. */
  buildLayers(deps: BuildDeps): BuildLayers {
    const pull = (options: PullOptions): AsyncIterable<ProgressMessage> => this.pull(options);
    return buildLayers({ ...deps, images: this.#context(), pull, push: (...asked) => this.push(...asked) });
  }

  /** Layers from and for caches of builds that lie elsewhere. */
  cacheLayers(): CacheLayers {
    return cacheLayers({ ...this.#pullContext(), slots: this.#uploads, hubLayers: this.hubLayers });
  }

  /** What the classic builder has left, for clients of BuildKit. */
  classicSteps(): ClassicSteps {
    return classicSteps(this.#context());
  }

  /** Checks a commit of a container; its `run` makes the image. */
  planCommit(request: CommitRequest): CommitPlan {
    return planCommit(this.#context(), request);
  }

  /** Names are grouped by image; a repository without a tag means all its tags, an id saves without names. */
  save(
    refs: readonly string[],
    options: { platforms?: readonly ImagePlatform[]; signal: AbortSignal },
  ): Promise<Readable> {
    return asPromise(() => savedTar(this.#context(), refs, options));
  }

  /** ImageCatalog. Throws not_found `No such image: NAME:TAG`, also for one of which layers are lost. */
  resolve(ref: string, platform?: ImagePlatform): ResolvedImage {
    const image = this.#index.find(ref);
    const list = this.#index.listNamed(ref);
    const meant = platform && ofPlatform(this.#index, { image, list }, platform);
    const { row, config } = this.#index.whole(meant ?? image, ref);
    return {
      id: row.id,
      layerIds: [...row.layerIds],
      config: runConfig(config.config),
      os: config.os,
      architecture: config.architecture,
    };
  }

  /** Ids of the image and of all that were made from it here; none when there is no such image. */
  descendants(ref: string): string[] {
    try {
      return this.#index.descendantsOf(this.#index.find(ref)).map(({ row }) => row.id);
    } catch (error) {
      if (isEngineError(error)) {
        return [];
      }
      throw error;
    }
  }

  /** How an image is shown for a container: the name it was created from while that still names it, else the id. */
  displayName(imageId: string, createdFrom: string): string {
    const reference = tryParseReference(createdFrom);
    const named =
      reference &&
      (this.#index.digest(reference) ?? this.#index.tag({ ...reference, tag: reference.tag ?? 'latest' }));
    const isNamed =
      named?.imageId === imageId ||
      this.#index.listNamed(createdFrom)?.images.some((listed) => listed.imageId === imageId) === true;
    const isPrefix = imageId.startsWith(createdFrom) || imageId.startsWith(`sha256:${createdFrom}`);
    return isNamed || (isPrefix && this.#index.get(imageId) !== undefined) ? createdFrom : imageId;
  }

  /** Keeps layers from being removed until disposed: for a container whose row is not stored yet. */
  pin(layerIds: readonly number[]): Disposable {
    return this.#pins.pin(layerIds);
  }

  /** Diff IDs of those of these layers that are lost: a container cannot start on them. */
  lostLayers(layerIds: readonly number[]): string[] {
    return this.#index.lostOf(layerIds).map(({ diffId }) => diffId);
  }

  /** Bytes of a layer, for RootfsDirectories. */
  layerSize(id: number): number {
    return this.#index.layer(id).sizeBytes;
  }

  /** A container of this image is gone. It was the last to hold the layers when the image had gone before it. */
  async containerRemoved(imageId: string): Promise<void> {
    if (this.#index.get(imageId) === undefined) {
      await this.#collector.collect();
    }
  }

  #context(): ImageContext {
    return {
      ...this.#deps,
      index: this.#index,
      pins: this.#pins,
      collector: this.#collector,
      unsynced: this.#unsynced,
    };
  }

  #pullContext(): PullContext {
    return { ...this.#context(), fetches: this.#fetches, commits: this.#commits };
  }

  #layersOf(image: ImageRecord): LayerRow[] {
    return image.row.layerIds.map((id) => this.#index.layer(id));
  }
}

function timed(
  action: 'pull' | 'push' | 'load' | 'import',
  messages: AsyncIterable<ProgressMessage>,
): AsyncIterable<ProgressMessage> {
  return measuredMessages('image', action, messages, ({ error }) => error);
}

/** The answer of something synchronous as the promise that the port promises. */
async function asPromise<T>(answer: () => T): Promise<T> {
  return answer();
}

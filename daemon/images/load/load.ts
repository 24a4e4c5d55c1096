import type { Readable } from 'node:stream';
import type { ImagePlatform, ProgressMessage } from '../../../api/types/image.ts';
import { limits } from '../../base/limits.ts';
import { invalidArgument, isEngineError } from '../../base/errors.ts';
import { shortId } from '../../base/ids.ts';
import { chainIds } from '../../../storage/layers/chain.ts';
import type { UnpackedLayer } from '../../../storage/layers/store.ts';
import type { LayerRow } from '../../../storage/database/rows.ts';
import { familiarName, nameable } from '../../../storage/references/reference.ts';
import { readArchive } from '../../../storage/image-archives/archive.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import { linkParents, type ParentLink } from './parent-links.ts';
import type { ImagePlan, PlannedLayer } from '../../../storage/image-archives/image-plan.ts';
import { planImages } from '../../../storage/image-archives/plan.ts';
import { hostPlatform } from '../../../storage/image/platform.ts';
import { commitImage } from './commit-image.ts';
import type { ImageContext } from '../context.ts';
import type { ImageIndex } from '../image-index.ts';
import { isForPlatform, otherPlatform } from '../platform-asked.ts';
import { LoadProgress } from './load-progress.ts';
import { imagesNamed, loaded, loadList } from './load-list.ts';

/**
 * Reads a tarball of images: spools it, finds out what is in it, unpacks the layers that are missing side by side, and
 * commits image by image. Nothing of an image is visible before all of it is, and no list before all of its images are.
 */
export async function* loadImages(
  context: ImageContext,
  tar: Readable,
  options: { quiet: boolean; platforms?: readonly ImagePlatform[]; signal: AbortSignal },
): AsyncGenerator<ProgressMessage> {
  await using archive = await readArchive(context.spools, tar, { signal: options.signal });
  const { platforms = [] } = options;
  const [asked] = platforms;
  const isAsked = asked !== undefined;
  const { images, lists } = await planImages(archive, { ...hostPlatform(), ...asked }, { isAsked });
  refuseOtherPlans(images, platforms);
  [...images, ...lists].forEach(({ names }) => names.forEach((name) => nameable(name)));
  let left = images.length + lists.reduce((count, list) => count + list.images.length, 0);
  const load = async function* (plan: ImagePlan, isListed: boolean): AsyncGenerator<ProgressMessage, string> {
    left -= 1;
    try {
      return yield* loadImage(context, plan, {
        ...options,
        isListed,
        // The sync that follows must not write out a spool that is about to be deleted.
        onUnpacked: () => (left === 0 ? archive[Symbol.asyncDispose]() : undefined),
      });
    } finally {
      await context.collector.collect();
    }
  };
  const links: ParentLink[] = [];
  for (const plan of images) {
    links.push({ id: yield* load(plan, false), parentId: plan.parentId ?? '' });
  }
  for (const list of lists) {
    yield* loadList(context, list, (plan) => load(plan, true));
  }
  linkParents(context, links);
}

/** Throws not_found where an image of the tarball is for none of these platforms; none = any. */
function refuseOtherPlans(plans: readonly ImagePlan[], asked: readonly ImagePlatform[]): void {
  const [first] = asked;
  for (const { names, config } of plans) {
    const own = config.kind === 'given' ? config.parsed : { ...hostPlatform(), variant: '' };
    if (first !== undefined && !asked.some((platform) => isForPlatform(own, platform))) {
      const [name] = names;
      throw otherPlatform(name === undefined ? 'in the tarball' : familiarName(name), first, own);
    }
  }
}

async function* loadImage(
  context: ImageContext,
  plan: ImagePlan,
  options: {
    quiet: boolean;
    /** It is one of a list, which is told of. */
    isListed: boolean;
    signal: AbortSignal;
    onUnpacked: () => Promise<void> | undefined;
  },
): AsyncGenerator<ProgressMessage, string> {
  const progress = new LoadProgress();
  await using unpacking = new PlanUnpacking(context, plan, { progress, signal: options.signal });
  yield* progress.during(unpacking.result, options.quiet);
  const layers = await unpacking.result;
  await options.onUnpacked();
  return yield* commit(context, plan, layers, options);
}

async function* commit(
  context: ImageContext,
  plan: ImagePlan,
  layers: readonly (LayerRow | UnpackedLayer)[],
  { isListed }: { isListed: boolean },
): AsyncGenerator<ProgressMessage, string> {
  const diffIds = layers.map((layer) => layer.diffId);
  const bytes = plan.config.kind === 'given' ? plan.config.bytes : plan.config.make(diffIds);
  const config = plan.config.kind === 'given' ? plan.config.parsed : parseImageConfig(bytes, 'image');
  const before = imagesNamed(context, plan.names);
  const image = { configBytes: bytes, config, layers, names: plan.names, action: 'load' } as const;
  const id = await commitImage(context, image);
  if (!isListed) {
    yield* loaded(id, plan.names, before);
  }
  return id;
}

/**
 * The layers of one image being loaded: those that exist are pinned, the others unpacked in parallel. Disposing waits
 * until no thread reads the tarball any more; layers that were unpacked and not committed are removed.
 */
class PlanUnpacking implements AsyncDisposable {
  readonly #context: ImageContext;
  readonly #stop = new AbortController();
  readonly #pin: Disposable;
  /** Bottom first. Rejects with the failure of the layer that failed by itself. */
  readonly result: Promise<(LayerRow | UnpackedLayer)[]>;

  constructor(
    context: ImageContext,
    plan: ImagePlan,
    options: { progress: LoadProgress; signal: AbortSignal },
  ) {
    this.#context = context;
    if (plan.layers.length > limits.imageLayersMax) {
      throw invalidArgument(`invalid image: more than ${limits.imageLayersMax} layers`);
    }
    const existing = existingLayers(context.index, plan.layers);
    this.#pin = context.pins.pin(existing.map((layer) => layer.id));
    this.result = this.#unpack(existing, plan.layers.slice(existing.length), options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const [settled] = await Promise.allSettled([this.result]);
    if (settled.status === 'fulfilled') {
      // Those that were committed have moved to their places: nothing is left here to remove.
      await Promise.all(
        settled.value
          .filter((layer) => 'directory' in layer)
          .map((layer) => this.#context.layers.discard(layer)),
      );
    }
    this.#pin[Symbol.dispose]();
  }

  async #unpack(
    existing: readonly LayerRow[],
    missing: readonly PlannedLayer[],
    options: { progress: LoadProgress; signal: AbortSignal },
  ): Promise<(LayerRow | UnpackedLayer)[]> {
    // One failure stops the others: their work would be thrown away.
    const signal = AbortSignal.any([this.#stop.signal, options.signal]);
    const unpacking = missing.map(async (layer) => {
      try {
        return await unpackLayer(this.#context, layer, { progress: options.progress, signal });
      } catch (error) {
        this.#stop.abort();
        throw error;
      }
    });
    const results = await Promise.allSettled(unpacking);
    const unpacked = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
    const failures = results.filter((result) => result.status === 'rejected');
    if (failures.length === 0) {
      return [...existing, ...unpacked];
    }
    await Promise.all(unpacked.map((layer) => this.#context.layers.discard(layer)));
    // The one that failed by itself, not those that were stopped because of it.
    throw (failures.find(({ reason }) => !isEngineError(reason, 'canceled')) ?? failures[0])?.reason;
  }
}

/** The longest run of layers, from the bottom, that are stored already. */
function existingLayers(index: ImageIndex, layers: readonly PlannedLayer[]): LayerRow[] {
  const known: string[] = [];
  for (const layer of layers) {
    if (layer.diffId === undefined) {
      break;
    }
    known.push(layer.diffId);
  }
  const existing: LayerRow[] = [];
  for (const chainId of chainIds(known)) {
    const layer = index.layerByChainId(chainId);
    if (layer === undefined) {
      break;
    }
    existing.push(layer);
  }
  return existing;
}

async function unpackLayer(
  context: ImageContext,
  layer: PlannedLayer,
  options: { progress: LoadProgress; signal: AbortSignal },
): Promise<UnpackedLayer> {
  const { diffId, digest, blob } = layer;
  const name = shortId(diffId ?? digest ?? `layer at ${blob.offset}`);
  const unpacked = await context.layers.unpack(
    {
      blob,
      what: `layer ${diffId ?? digest ?? `at byte ${blob.offset}`}`,
      ...(diffId === undefined ? {} : { expectedDiffId: diffId }),
      ...(digest === undefined ? {} : { expectedDigest: digest }),
    },
    {
      signal: options.signal,
      onStart: (bytesRead) => options.progress.begin(name, blob.size, bytesRead),
    },
  );
  options.progress.finish(name);
  return unpacked;
}

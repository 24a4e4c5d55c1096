import { Readable } from 'node:stream';
import type { BuildLayers, ImageFacts, LeftCommand, PinnedLayers } from '../../build/ports.ts';
import type { LayerRow } from '../../../storage/database/rows.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import { chainIds } from '../../../storage/layers/chain.ts';
import type { PlaceRequest } from '../../../storage/files/place.ts';
import type { UnpackedLayer } from '../../../storage/layers/store.ts';
import { invalidArgument } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { Rollback } from '../../base/rollback.ts';
import type { ImageContext } from '../context.ts';
import type { BuilderContext } from './build.ts';
import { layerBlob } from './layer-blobs.ts';
import { callByDigest, makeImage, makeImageList } from './make-image.ts';
import { pushBuilt, type PushImages } from './push-built.ts';
import { openContainer } from './open-container.ts';
import { resolveImage } from './resolve-image.ts';
import { removeContainer, runCommand, type CommandHost } from './run-command.ts';
import { stepRoot } from './step-root.ts';

/** The layers of the image store for builds that are solved: what their operations make are layers without an image. */
export function buildLayers(builder: BuilderContext & { push: PushImages }): BuildLayers {
  const { images } = builder;
  /** Of containers whose command has ended. */
  const removals = new Set<Promise<void>>();
  const pinned = (layerIds: readonly number[]): PinnedLayers => ({
    layerIds,
    pin: images.pins.pin(layerIds),
  });
  return {
    pin: pinned,
    lowers: (layerIds) => layerIds.map((id) => images.layers.diff(id)).toReversed(),
    chainId: (layerIds) => layerIds.map((id) => images.index.layer(id)).at(-1)?.chainId ?? '',
    bytes: (layerIds) => layerIds.reduce((sum, id) => sum + images.index.layer(id).sizeBytes, 0),
    diffIds: (layerIds) => layerIds.map((id) => images.index.layer(id).diffId),
    chainOf: (layerId) => chainOf(images, layerId),
    chainNamed: (chainId) => chainOf(images, images.index.layerByChainId(chainId)?.id ?? 0),
    image: (source, options) => findImage(builder, source, options),
    run: (command) => run(builder, command, removals),
    open: (asked) => openContainer(builder, asked),
    commit: async (layerIds, { tar, files }, signal) =>
      tar.isEmpty ? pinned(layerIds) : await commitLayer(images, layerIds, { tar, files, signal }),
    compose: async (layerIds, files, signal) => await composeLayer(images, layerIds, { files, signal }),
    expectFiles: (count) => images.layers.expectFiles(count),
    stack: async (layerIds, above, signal) => {
      let current = pinned(layerIds);
      for (const id of above) {
        using _below = current.pin;
        await using tar = await readAgain(builder, id, signal);
        current = await commitLayer(images, current.layerIds, { tar, signal });
      }
      return current;
    },
    makeImage: (image) => makeImage(images, image),
    makeList: (made, list) => makeImageList(images, made, list),
    callByDigest: (imageId, asked) => callByDigest(images, imageId, asked),
    push: (name, options) => pushBuilt(builder.push, name, options),
    blob: (layerId, options) => layerBlob(images, layerId, options),
    users: (layerId) => [...images.index.images()].filter(({ row }) => row.layerIds.includes(layerId)).length,
    isPinned: (layerId) => images.pins.isPinned(layerId),
    collect: () => images.collector.collect(),
    idle: async () => {
      await Promise.all(removals);
    },
  };
}

/** Bottom first; undefined where one of them is not there. */
function chainOf({ index }: ImageContext, layerId: number): number[] | undefined {
  const known = index.layerIds();
  const chain: number[] = [];
  for (let next: number | null = layerId; next !== null;) {
    if (!known.has(next)) {
      return undefined;
    }
    chain.unshift(next);
    next = index.layer(next).parentId;
  }
  return index.lostOf(chain).length === 0 ? chain : undefined;
}

async function findImage(
  builder: BuilderContext,
  { reference, platform, mode }: Parameters<BuildLayers['image']>[0],
  options: Parameters<BuildLayers['image']>[1],
): Promise<ImageFacts> {
  const { images } = builder;
  const { signal } = options;
  const holds: Disposable[] = [];
  let fetched: string | undefined;
  try {
    const image = await resolveImage(
      {
        images,
        pull: (asked) => builder.pull(asked),
        auth: (domain) => options.auth(domain),
        signal,
        // What has a digest is what it is, wherever it came from.
        request: { pull: mode === 'pull' && !reference.includes('@') },
        other: (digest) => (fetched = digest),
        progress: { send: (message) => options.told(message) },
        hold: (id) => holds.push(images.index.hold(id)),
      },
      reference,
      platform,
    );
    const { layerIds, config, id } = image.row;
    const digest = fetched ?? images.index.digestsOf(id).find(({ isOwn }) => isOwn !== true)?.digest ?? '';
    return { id, digest, config, layerIds, pin: images.pins.pin(layerIds) };
  } finally {
    holds.forEach((hold) => hold[Symbol.dispose]());
  }
}

/** A layer without an image. Its row stays while somebody pins it, or a record of a build refers to it. */
async function commitLayer(
  context: ImageContext,
  layerIds: readonly number[],
  { tar, files, signal }: { tar: ChangesTar; files?: string | undefined; signal: AbortSignal },
): Promise<PinnedLayers> {
  refuseMore(layerIds);
  const { layers, pins } = context;
  using _below = pins.pin(layerIds);
  const unpacked = await layers.unpack(
    { blob: { fd: tar.fd, offset: 0, size: tar.size }, what: 'layer', ...(files !== undefined && { files }) },
    { signal },
  );
  return await placeLayer(context, layerIds, unpacked);
}

/** The same of files that are put on others. Undefined: nothing is made. */
async function composeLayer(
  context: ImageContext,
  layerIds: readonly number[],
  { files, signal }: { files: PlaceRequest; signal: AbortSignal },
): Promise<PinnedLayers | undefined> {
  refuseMore(layerIds);
  const { layers, pins } = context;
  using _below = pins.pin(layerIds);
  const composed = await layers.compose(files, { signal });
  switch (composed) {
    case 'beyond':
      return undefined;
    case 'unchanged':
      return { layerIds, pin: pins.pin(layerIds) };
    default:
      return await placeLayer(context, layerIds, composed);
  }
}

function refuseMore(layerIds: readonly number[]): void {
  if (layerIds.length >= limits.overlayLowersMax - 1) {
    throw invalidArgument(`max depth exceeded: an image has at most ${limits.overlayLowersMax - 1} layers`);
  }
}

/** Gives an unpacked layer its place and its row on others, which are pinned. Where it fails nothing of it is left. */
export async function placeLayer(
  context: ImageContext,
  layerIds: readonly number[],
  unpacked: UnpackedLayer,
): Promise<PinnedLayers> {
  const { layers, index, database, pins } = context;
  await using rollback = new Rollback(context.log, { layer: unpacked.diffId });
  rollback.defer('discard an unpacked layer', () => layers.discard(unpacked));
  const below = layerIds.map((id) => index.layer(id));
  const chainId = chainIds([...below.map(({ diffId }) => diffId), unpacked.diffId]).at(-1) ?? '';
  const there = index.layerByChainId(chainId);
  if (there !== undefined) {
    // The rollback takes away what was unpacked.
    const all = [...layerIds, there.id];
    return { layerIds: all, pin: pins.pin(all) };
  }
  const id = database.layers.nextId();
  rollback.defer('remove a placed layer', () => layers.remove(id));
  await layers.place(unpacked, id, layerIds);
  const all = await storeRow(context, { id, unpacked, chainId, below: layerIds, rollback });
  return { layerIds: all, pin: pins.pin(all) };
}

/** In one turn, so that no other build stores the same meanwhile; what was lost is where it was again. */
async function storeRow(
  { layers, index, database, journal, unsynced }: ImageContext,
  placed: {
    id: number;
    unpacked: UnpackedLayer;
    chainId: string;
    below: readonly number[];
    rollback: Rollback;
  },
): Promise<number[]> {
  const { id, unpacked, chainId, below, rollback } = placed;
  if (index.lostByChainId(chainId) !== undefined) {
    // Its row is stored already.
    await layers.sync();
  }
  const lost = index.lostByChainId(chainId);
  if (lost !== undefined && layers.restore(id, lost.id)) {
    rollback.commit();
    await layers.sync();
    index.setFound(lost.id);
    return [...below, lost.id];
  }
  const there = index.layerByChainId(chainId);
  if (there !== undefined) {
    return [...below, there.id];
  }
  const row: LayerRow = {
    id,
    diffId: unpacked.diffId,
    chainId,
    parentId: below.at(-1) ?? null,
    sizeBytes: unpacked.contentBytes,
  };
  journal.commit(() => {
    failpoint('images.build.layer.commit');
    database.layers.insertWithId(row);
    unsynced.mark(id);
  });
  unsynced.added(id);
  rollback.commit();
  index.addLayer(row);
  return [...below, id];
}

/** The tar of a layer once more. */
async function readAgain(
  { images, spools }: BuilderContext,
  layerId: number,
  signal: AbortSignal,
): Promise<ChangesTar> {
  const { diffId } = images.index.layer(layerId);
  const stream: Readable = images.layers.read(layerId, diffId);
  const spool = await spools.raw(stream, { what: 'layer', signal });
  return {
    fd: spool.fd,
    size: spool.size,
    isEmpty: false,
    [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
  };
}

async function run(
  builder: BuilderContext,
  asked: Parameters<BuildLayers['run']>[0],
  removals: Set<Promise<void>>,
): Promise<PinnedLayers> {
  const { images, containers } = builder;
  const { layerIds, body, command, mountPoints, signal, validExitCodes } = asked;
  const { container } = asked;
  const host: CommandHost = {
    containers,
    images,
    signal,
    removes: container?.removes ?? { afterSuccess: true, always: true },
    keepUntil: container?.keepUntil ?? signal,
    warn: (text) =>
      container === undefined
        ? asked.output(2, Buffer.from(`[Warning] ${text}\n`))
        : container.progress.say(` ---> [Warning] ${text}\n`),
    progress: container?.progress ?? {
      say: () => undefined /* for others */,
      output: (stream, bytes) => asked.output(stream, bytes),
      room: () => Promise.resolve(),
    },
  };
  const step = stepRoot(images, asked);
  const left = (id: string): void => asked.left?.(leftCommand(builder, asked, { id, host, removals }));
  const id = await runCommand(
    { ...host, ...(asked.left && { left }) },
    container === undefined
      ? { body: { ...body, Image: step.root.id }, command, step, ...(validExitCodes && { validExitCodes }) }
      : { ...container, command },
  );
  container?.created(id);
  let tar: ChangesTar | undefined;
  let removal: Promise<void> | undefined;
  try {
    tar = await containers.layerOf(id, signal, mountPoints);
  } finally {
    if (host.removes.afterSuccess || tar === undefined) {
      // What stands on the layer need not wait for it.
      removal = removeSoon(host, id, removals, { says: container !== undefined });
    }
  }
  try {
    await using _tar = tar;
    return tar.isEmpty
      ? { layerIds, pin: images.pins.pin(layerIds) }
      : await commitLayer(images, layerIds, { tar, signal });
  } finally {
    if (container !== undefined) {
      // Its client is told before the next step.
      await removal;
    }
  }
}

function removeSoon(
  host: CommandHost,
  id: string,
  removals: Set<Promise<void>>,
  told: { says: boolean },
): Promise<void> {
  const running: Promise<void> = removeContainer(host, id, told).finally(() => removals.delete(running));
  removals.add(running);
  return running;
}

function leftCommand(
  { images, containers }: BuilderContext,
  { layerIds, mountPoints }: Parameters<BuildLayers['run']>[0],
  { id, host, removals }: { id: string; host: CommandHost; removals: Set<Promise<void>> },
): LeftCommand {
  return {
    layers: async (signal) => {
      await using tar = await containers.layerOf(id, signal, mountPoints);
      return tar.isEmpty
        ? { layerIds, pin: images.pins.pin(layerIds) }
        : await commitLayer(images, layerIds, { tar, signal });
    },
    remove: () => {
      void removeSoon(host, id, removals, { says: false }).catch((error: unknown) => {
        images.log.error({ container: id, err: error }, 'the container of a step that failed stays');
      });
    },
  };
}

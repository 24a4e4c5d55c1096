import { createHash } from 'node:crypto';
import { invariant } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { parseRfc3339Nano } from '../../base/clock.ts';
import { Rollback } from '../../base/rollback.ts';
import type { EventDraft } from '../../events/journal-types.ts';
import type {
  ImageDigestRow,
  ImageParentRow,
  ImageRow,
  LayerBlobRow,
  LayerRow,
  TagRow,
} from '../../../storage/database/rows.ts';
import { chainIds } from '../../../storage/layers/chain.ts';
import type { UnpackedLayer } from '../../../storage/layers/store.ts';
import { canonicalRepository, type Reference } from '../../../storage/references/reference.ts';
import type { ImageConfig } from '../../../storage/image/image-config.ts';
import type { ImageContext } from '../context.ts';
import { joinList, type JoinedList, type PulledIndex } from '../lists/join-list.ts';
import { tagName } from '../image-index.ts';
import { labelsOf } from '../wire.ts';

/** An image whose layers are all there: in place, or unpacked and waiting for one. */
export interface NewImage {
  configBytes: Buffer;
  config: ImageConfig;
  /** Bottom first: a layer that exists (and is pinned), or one just unpacked. */
  layers: readonly (LayerRow | UnpackedLayer)[];
  names: readonly Reference[];
  /** What registries call it. */
  digests?: readonly Omit<ImageDigestRow, 'imageId'>[];
  /** Where registries have its layers, by position. */
  blobs?: readonly (Omit<LayerBlobRow, 'layerId'> & { position: number })[];
  /** `make`: there is no event of the image itself, only of its names. */
  action: 'load' | 'import' | 'pull' | 'make';
  /** When it was given its names, where that was on another engine; else now. */
  taggedNano?: bigint;
  /** What the event is about, where that is not the image's id. */
  event?: { actorId: string; name: string };
  /** That led to it in a registry: its names and digests mean the list. */
  index?: PulledIndex | undefined;
  /** What it was made from on this engine. */
  parent?: Omit<ImageParentRow, 'imageId'>;
  /** Called when it is there, before any other request can use it. */
  committed?: (imageId: string) => void;
  /** Further events of the same transaction. */
  events?: (imageId: string) => readonly EventDraft[];
}

/** What fits into a column of 64 bits. */
const NANO_MAX = 2n ** 63n - 1n;

/**
 * Makes unpacked layers and their image durable and visible: layers to their places, one sync of the disk, then one
 * transaction with all rows and the event. Either everything is there afterwards or nothing. Answers the image's id.
 */
export async function commitImage(context: ImageContext, image: NewImage): Promise<string> {
  const id = `sha256:${createHash('sha256').update(image.configBytes).digest('hex')}`;
  await using rollback = new Rollback(context.log, { image: id });
  const rows: Omit<LayerRow, 'parentId'>[] = [];
  const placed = new Set<number>();
  const chain = chainIds(image.config.diffIds);
  const unpacked = image.layers.filter((layer) => 'directory' in layer);
  rollback.defer('discard unpacked layers', async () => {
    await Promise.all(unpacked.map((layer) => context.layers.discard(layer)));
  });
  for (const [position, layer] of image.layers.entries()) {
    const chainId = chain[position];
    invariant(chainId !== undefined, `image ${id} has more layers than diff IDs`);
    if ('id' in layer) {
      rows.push(layer);
      continue;
    }
    const layerId = context.database.layers.nextId();
    const parents = rows.map((row) => row.id);
    rollback.defer('remove a placed layer', () => context.layers.remove(layerId));
    await context.layers.place(layer, layerId, parents);
    placed.add(layerId);
    rows.push({ id: layerId, diffId: layer.diffId, chainId, sizeBytes: layer.contentBytes });
  }
  // One sync brings all layers to the disk, those of a build too.
  await context.unsynced.settled();
  if (placed.size > 0) {
    await context.layers.sync();
  }
  const restored = restoreLost(context, rows, placed);
  if (restored.length > 0) {
    await context.layers.sync();
  }
  restored.forEach((layerId) => context.index.setFound(layerId));
  const unused = commitRows(context, { ...image, id, rows, placed });
  image.committed?.(id);
  rollback.commit();
  for (const layerId of unused) {
    await context.layers.remove(layerId);
  }
  return id;
}

/**
 * Layers that have a row and had lost their directory get the one just placed, under their old id. Answers the ids of
 * those that are there now.
 */
function restoreLost(
  { layers, index }: ImageContext,
  rows: readonly Omit<LayerRow, 'parentId'>[],
  placed: Set<number>,
): number[] {
  return rows.flatMap(({ id, chainId }) => {
    const lost = placed.has(id) ? index.lostByChainId(chainId) : undefined;
    if (lost !== undefined && layers.restore(id, lost.id)) {
      placed.delete(id);
    }
    return lost === undefined ? [] : [lost.id];
  });
}

/** Answers placed layers that another load or pull committed first. */
function commitRows(
  context: ImageContext,
  image: NewImage & { id: string; rows: Omit<LayerRow, 'parentId'>[]; placed: ReadonlySet<number> },
): number[] {
  const { database, journal, clock, index } = context;
  const now = clock.nowNano();
  const known = index.get(image.id);
  const committed = journal.commit(
    (emit) => {
      failpoint('images.load.commit');
      const { layers, added, unused } = insertLayers(context, image.rows, image.placed);
      const row = known?.row ?? {
        id: image.id,
        config: image.configBytes,
        layerIds: layers.map((layer) => layer.id),
        createdNano: nanoOf(image.config.created),
        lastTaggedNano: null,
        sizeBytes: layers.reduce((total, layer) => total + layer.sizeBytes, 0),
      };
      if (known === undefined) {
        // A row that the index left out as damaged is replaced by the image itself.
        database.images.remove(image.id);
        database.images.insert(row);
      }
      const list = joinRows(context, image);
      const tags = [...tagsOf(context, image, list), ...(list?.tags ?? [])];
      for (const tag of tags) {
        database.tags.set(tag);
      }
      const taggedNano = image.taggedNano ?? now;
      if (tags.length > 0) {
        database.images.setLastTagged(image.id, taggedNano);
      }
      const digests = [...digestsOf(context, image, list), ...(list?.digests ?? [])];
      for (const digest of digests) {
        database.digests.set(digest);
      }
      for (const { position, ...blob } of image.blobs ?? []) {
        const layerId = layers[position]?.id;
        invariant(layerId !== undefined, `image ${image.id} has no layer ${position}`);
        database.blobs.set({ ...blob, layerId });
      }
      const parent = image.parent && { imageId: image.id, ...image.parent };
      if (parent !== undefined) {
        database.parents.set(parent);
      }
      const unnamed = tags.length + digests.length > 0 ? database.manifestLists.removeUnnamed() : [];
      eventsOf(image, row, tags).forEach((draft) => emit(draft));
      const lastTaggedNano = tags.length > 0 ? taggedNano : row.lastTaggedNano;
      return { row: { ...row, lastTaggedNano }, parent, list, tags, digests, unnamed, added, unused };
    },
    { durable: true },
  );
  for (const layer of committed.added) {
    index.addLayer(layer);
  }
  index.addImage(committed.row, image.config);
  index.lists.replace(committed.list?.row);
  for (const tag of committed.tags) {
    index.setTag(tag);
  }
  for (const digest of committed.digests) {
    index.setDigest(digest);
  }
  committed.unnamed.forEach((list) => index.lists.remove(list));
  if (committed.parent !== undefined) {
    index.setParent(committed.parent);
  }
  return committed.unused;
}

function joinRows(context: ImageContext, image: NewImage & { id: string }): JoinedList | undefined {
  const list = image.index && joinList(context, image.index, image);
  if (list?.change !== undefined) {
    context.database.manifestLists.join(list.row, list.change.listed, list.change.documents);
  }
  return list;
}

/** A name that means the image already goes on meaning the list that it is in: what is beside it is not lost. */
function tagsOf(
  { index }: ImageContext,
  { id, names }: NewImage & { id: string },
  list: JoinedList | undefined,
): TagRow[] {
  return names.map((name) => {
    const known = index.tag({ ...name, tag: name.tag ?? 'latest' });
    const row = { repository: canonicalRepository(name), tag: name.tag ?? 'latest', imageId: id };
    return list === undefined && known?.imageId === id ? known : { ...row, ...meaning(list) };
  });
}

/** Where no platform is asked for. */
function meaning(list: JoinedList | undefined): { imageId?: string; list?: string } {
  return list === undefined ? {} : { imageId: list.row.imageId, list: list.row.id };
}

/** A digest that means the image already goes on meaning its list, too. */
function digestsOf(
  { index }: ImageContext,
  { id, digests = [] }: NewImage & { id: string },
  joined: JoinedList | undefined,
): ImageDigestRow[] {
  const known = index.digestsOf(id);
  return digests.map(({ repository, digest }) => {
    const { list } = known.find((row) => row.repository === repository && row.digest === digest) ?? {};
    return { repository, digest, imageId: id, ...(list !== undefined && { list }), ...meaning(joined) };
  });
}

function eventsOf(image: NewImage & { id: string }, row: ImageRow, tags: readonly TagRow[]): EventDraft[] {
  const { id, action, config, events } = image;
  const ofImage = (verb: string, name: string): EventDraft => ({
    type: 'image',
    action: verb,
    actorId: id,
    attributes: { ...labelsOf({ row, config }), name },
  });
  // Names that come with a load or a pull are told by its own event alone.
  const named = action === 'make' || action === 'import' ? tags : [];
  const own = { ...ofImage(action, image.event?.name ?? id), actorId: image.event?.actorId ?? id };
  return [
    ...(action === 'make' ? [ofImage('create', id)] : []),
    ...named.map((tag) => ofImage('tag', tagName(tag))),
    ...(action === 'make' ? [] : [own]),
    ...(events?.(id) ?? []),
  ];
}

function insertLayers(
  context: ImageContext,
  rows: readonly Omit<LayerRow, 'parentId'>[],
  placed: ReadonlySet<number>,
): { layers: LayerRow[]; added: LayerRow[]; unused: number[] } {
  const layers: LayerRow[] = [];
  const added: LayerRow[] = [];
  const unused: number[] = [];
  for (const row of rows) {
    const existing = context.database.layers.byChainId(row.chainId);
    if (existing !== undefined) {
      layers.push(existing);
      if (placed.has(row.id)) {
        unused.push(row.id);
      }
      continue;
    }
    const layer = { ...row, parentId: layers.at(-1)?.id ?? null };
    context.database.layers.insertWithId(layer);
    layers.push(layer);
    added.push(layer);
  }
  return { layers, added, unused };
}

/** Nanoseconds of a configuration's time; 0 for none and for times that no 64 bits hold (year 1 means "none"). */
function nanoOf(created: string | undefined): bigint {
  const nano = created === undefined ? 0n : parseRfc3339Nano(created);
  return nano > NANO_MAX || nano < -NANO_MAX ? 0n : nano;
}

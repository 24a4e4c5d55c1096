import { createHash } from 'node:crypto';
import { formatNano } from '../../base/clock.ts';
import { invalidArgument, invariant } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { EventDraft } from '../../events/journal-types.ts';
import { parseImageConfig } from '../../../storage/image/image-config.ts';
import type { UnpackedLayer } from '../../../storage/layers/store.ts';
import type { Reference } from '../../../storage/references/reference.ts';
import { childConfig, type ChildFacts } from './child-config.ts';
import { commitImage, type NewImage } from '../load/commit-image.ts';
import { noSuchImage, type ImageRecord } from '../image-index.ts';
import type { ChangesTar } from '../../../storage/files/tar-spools.ts';
import type { ImageContext } from '../context.ts';

/** An image to be made from another one: by a commit, or by a step of a build. */
export interface ChildImage extends Pick<
  ChildFacts,
  'config' | 'containerConfig' | 'containerId' | 'author' | 'comment' | 'createdBy'
> {
  /** `''`: made from nothing. */
  parentId: string;
  names: readonly Reference[];
  /** Identifies the step of a build that makes it. */
  stepKey?: string;
  /** Called when it is there, before any other request can use it. */
  committed?: (imageId: string) => void;
  /** What else happens when it is there, in the same transaction. */
  events?: (imageId: string) => readonly EventDraft[];
}

/** Makes the image, durable and visible, with all its names; answers its id. Nothing is left when it throws. */
export async function makeChild(
  context: ImageContext,
  child: ChildImage,
  tar: ChangesTar | undefined,
  signal?: AbortSignal,
): Promise<string> {
  const { index, pins, collector } = context;
  const parent = parentOf(context, child.parentId);
  const parentLayers = (parent?.row.layerIds ?? []).map((id) => index.layer(id));
  using _pin = pins.pin(parentLayers.map(({ id }) => id));
  using _hold = index.hold(child.parentId);
  const layer = tar === undefined || tar.isEmpty ? undefined : await unpack(context, parent, tar, signal);
  try {
    return await commitImage(context, {
      ...newChild(context, child, { parent, created: formatNano(context.clock.nowNano()), layer }),
      layers: layer === undefined ? parentLayers : [...parentLayers, layer],
      ...(child.events && { events: child.events }),
      ...(child.committed && { committed: child.committed }),
    });
  } finally {
    await collector.collect();
  }
}

/** The same of layers that are there and pinned: undefined = those of the parent. */
export async function makeStepChild(
  context: ImageContext,
  child: ChildImage,
  layerIds: readonly number[] | undefined,
): Promise<string> {
  const { index, pins } = context;
  const parent = parentOf(context, child.parentId);
  const below = parent?.row.layerIds ?? [];
  const all = layerIds ?? below;
  using _pin = pins.pin(all);
  using _hold = index.hold(child.parentId);
  const layers = all.map((id) => index.layer(id));
  const layer = all.length > below.length ? layers.at(-1) : undefined;
  return await commitImage(context, {
    ...newChild(context, child, { parent, created: formatNano(context.clock.nowNano()), layer }),
    layers,
    ...(child.committed && { committed: child.committed }),
  });
}

/**
 * Makes an image of what another one has as its step after `child.parentId`: its entry of the history, its layer. The
 * caller has compared what comes before. Answers an id that may have been there.
 */
export async function repeatChild(
  context: ImageContext,
  child: Omit<ChildImage, 'author' | 'comment' | 'createdBy' | 'containerId' | 'stepKey'>,
  { image, position }: { image: ImageRecord; position: number },
): Promise<string> {
  const { index, pins } = context;
  const parent = parentOf(context, child.parentId);
  const entry = image.config.history[position];
  invariant(entry !== undefined, `image ${image.row.id} has no step ${position}`);
  const before = parent?.row.layerIds.length ?? 0;
  const layers = image.row.layerIds.slice(0, entry.emptyLayer ? before : before + 1);
  using _pin = pins.pin(layers);
  const rows = layers.map((id) => index.layer(id));
  const again = newChild(
    context,
    { ...child, ...entry, author: entry.author ?? '', containerId: '' },
    {
      parent,
      created: entry.created ?? image.config.created ?? '',
      layer: entry.emptyLayer ? undefined : rows.at(-1),
    },
  );
  const id = `sha256:${createHash('sha256').update(again.configBytes).digest('hex')}`;
  const { committed } = child;
  if (index.get(id) !== undefined) {
    // Perhaps it was built here: then that stays known of it.
    committed?.(id);
    return id;
  }
  return await commitImage(context, { ...again, layers: rows, ...(committed && { committed }) });
}

function newChild(
  context: ImageContext,
  child: ChildImage,
  facts: { parent: ImageRecord | undefined; created: string; layer: { diffId: string } | undefined },
): Omit<NewImage, 'layers'> {
  const { parent, created, layer } = facts;
  const configBytes = childConfig({
    ...child,
    parent: parent?.config,
    created,
    diffId: layer?.diffId,
    dockerVersion: context.engineVersion,
  });
  return {
    configBytes,
    config: parseImageConfig(configBytes, 'image'),
    names: child.names,
    action: 'make',
    parent: { parentId: child.parentId, stepKey: child.stepKey ?? null },
  };
}

function parentOf({ index }: ImageContext, parentId: string): ImageRecord | undefined {
  if (parentId === '') {
    return undefined;
  }
  const parent = index.get(parentId);
  if (parent === undefined) {
    throw noSuchImage(parentId);
  }
  return parent;
}

async function unpack(
  context: ImageContext,
  parent: ImageRecord | undefined,
  { fd, size }: ChangesTar,
  signal: AbortSignal | undefined,
): Promise<UnpackedLayer> {
  // A container needs all of them as lower directories of one mount.
  if ((parent?.row.layerIds.length ?? 0) >= limits.overlayLowersMax - 1) {
    throw invalidArgument(`max depth exceeded: an image has at most ${limits.overlayLowersMax - 1} layers`);
  }
  return await context.layers.unpack(
    { blob: { fd, offset: 0, size }, what: 'layer' },
    { ...(signal && { signal }) },
  );
}

import type { ContainerConfig } from '../../api/types/container.ts';
import { formatNano } from '../base/clock.ts';
import { invalidArgument } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { EventDraft } from '../events/journal-types.ts';
import { parseImageConfig } from '../../storage/tarballs/image-config.ts';
import type { UnpackedLayer } from '../../storage/layers/store.ts';
import type { Reference } from '../../storage/references/reference.ts';
import { childConfig } from './child-config.ts';
import { commitImage } from './commit-image.ts';
import { noSuchImage, type ImageRecord } from './image-index.ts';
import type { LoadContext } from './load.ts';

/** An image to be made from another one: by a commit, or by a step of a build. */
export interface ChildImage {
  /** `''`: made from nothing. */
  parentId: string;
  config: ContainerConfig;
  containerConfig: ContainerConfig;
  /** Full id; `''` = no container was needed. */
  containerId: string;
  author: string;
  comment: string;
  createdBy: string;
  names: readonly Reference[];
  /** Identifies the step of a build that makes it. */
  stepKey?: string;
  /** What else happens when it is there, in the same transaction. */
  events?: (imageId: string) => readonly EventDraft[];
}

/** The tar of a layer in an open file. */
export interface LayerTar {
  fd: number;
  size: number;
  /** It tells of nothing: then the image gets no layer. */
  isEmpty: boolean;
}

/** Makes the image, durable and visible, with all its names; answers its id. Nothing is left when it throws. */
export async function makeChild(
  context: LoadContext,
  child: ChildImage,
  tar: LayerTar | undefined,
  signal?: AbortSignal,
): Promise<string> {
  const { deps, index, pins, collector } = context;
  const parent = parentOf(context, child.parentId);
  const parentLayers = (parent?.row.layerIds ?? []).map((id) => index.layer(id));
  using _pin = pins.pin(parentLayers.map(({ id }) => id));
  const layer = tar === undefined || tar.isEmpty ? undefined : await unpack(context, parent, tar, signal);
  const { names, stepKey } = child;
  const bytes = childConfig({
    ...child,
    parent: parent?.config,
    created: formatNano(deps.clock.nowNano()),
    diffId: layer?.diffId,
    dockerVersion: deps.engineVersion,
  });
  try {
    return await commitImage(deps, index, {
      configBytes: bytes,
      config: parseImageConfig(bytes, 'image'),
      layers: layer === undefined ? parentLayers : [...parentLayers, layer],
      names,
      action: 'make',
      parent: { parentId: child.parentId, stepKey: stepKey ?? null },
      ...(child.events && { events: child.events }),
    });
  } finally {
    await collector.collect();
  }
}

function parentOf({ index }: LoadContext, parentId: string): ImageRecord | undefined {
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
  { deps }: LoadContext,
  parent: ImageRecord | undefined,
  { fd, size }: LayerTar,
  signal: AbortSignal | undefined,
): Promise<UnpackedLayer> {
  // A container needs all of them as lower directories of one mount.
  if ((parent?.row.layerIds.length ?? 0) >= limits.overlayLowersMax - 1) {
    throw invalidArgument(`max depth exceeded: an image has at most ${limits.overlayLowersMax - 1} layers`);
  }
  return await deps.layers.unpack(
    { blob: { fd, offset: 0, size }, what: 'layer' },
    { ...(signal && { signal }) },
  );
}

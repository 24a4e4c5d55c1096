import type { Readable } from 'node:stream';
import { hostPlatform } from '../../storage/image/platform.ts';
import { isEngineError, notFound } from '../base/errors.ts';
import type { ImageContext } from './context.ts';
import type { ImageRecord } from './image-index.ts';
import { ofPlatform } from './platform-asked.ts';

/** An image of this engine, for others to read. */
export interface SharedImage {
  /** sha256:... */
  id: string;
  os: string;
  architecture: string;
  /** When it was given a name last; 0 = never. */
  taggedNano: bigint;
  /** Its configuration, and the bytes of the layers' tars, bottom first. */
  describe(): { config: Buffer; layerBytes: number[] };
  /** The tar of a layer, from 0, bottom first. The layer stays until the stream is closed. */
  readLayer(position: number): Readable;
}

/** Of several images under a name: the one of an id, or for a platform. */
export type WantedImage = { id: string } | { os: string; architecture: string };

/**
 * Undefined for text that names no image, and for one of which layers are lost. Of several under a name the one that is
 * wanted, else that for this host.
 */
export function sharedImage(
  context: ImageContext,
  ref: string,
  wanted?: WantedImage,
): SharedImage | undefined {
  const found = wholeImage(context, ref, wanted);
  if (found === undefined) {
    return undefined;
  }
  const { image, named } = found;
  const { row, config } = image;
  const host = hostPlatform();
  return {
    id: row.id,
    // One that says nothing runs here.
    os: config.os === '' ? host.os : config.os,
    architecture: config.architecture === '' ? host.architecture : config.architecture,
    taggedNano: named.row.lastTaggedNano ?? 0n,
    describe: () => ({
      config: row.config,
      layerBytes: row.layerIds.map((id) => context.layers.tarBytes(id)),
    }),
    readLayer: (position) => readLayer(context, image, position),
  };
}

/** `named`: what the name means without a platform, which knows since when. */
function wholeImage(
  { index }: ImageContext,
  ref: string,
  wanted: WantedImage | undefined,
): { image: ImageRecord; named: ImageRecord } | undefined {
  try {
    const named = index.find(ref);
    const list = index.listNamed(ref);
    if (wanted !== undefined && 'id' in wanted) {
      const isListed = list?.images.some(({ imageId }) => imageId === wanted.id) === true;
      return { image: index.findWhole(isListed ? wanted.id : ref), named };
    }
    const meant = wanted && ofPlatform(index, { image: named, list }, wanted);
    return { image: index.whole(meant ?? named, ref), named };
  } catch (error) {
    if (isEngineError(error)) {
      return undefined;
    }
    throw error;
  }
}

function readLayer(
  { index, layers, pins, collector, log }: ImageContext,
  image: ImageRecord,
  position: number,
): Readable {
  const layerId = image.row.layerIds[position];
  if (layerId === undefined) {
    throw notFound(`image ${image.row.id} has no layer ${position}`);
  }
  const pin = pins.pin([layerId]);
  const stream = layers.read(layerId, index.layer(layerId).diffId);
  stream.once('close', () => {
    pin[Symbol.dispose]();
    collector.collect().catch((error: unknown) => {
      log.error({ err: error }, 'layers of a removed image not collected after they were read');
    });
  });
  return stream;
}

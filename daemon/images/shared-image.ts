import type { Readable } from 'node:stream';
import { hostPlatform } from '../../storage/image/platform.ts';
import { isEngineError, notFound } from '../base/errors.ts';
import type { ImageContext } from './context.ts';
import type { ImageRecord } from './image-index.ts';

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

/** Undefined for text that names no image, and for one of which layers are lost. */
export function sharedImage(context: ImageContext, ref: string): SharedImage | undefined {
  const image = wholeImage(context, ref);
  if (image === undefined) {
    return undefined;
  }
  const { row, config } = image;
  const host = hostPlatform();
  return {
    id: row.id,
    // One that says nothing runs here.
    os: config.os === '' ? host.os : config.os,
    architecture: config.architecture === '' ? host.architecture : config.architecture,
    taggedNano: row.lastTaggedNano ?? 0n,
    describe: () => ({
      config: row.config,
      layerBytes: row.layerIds.map((id) => context.layers.tarBytes(id)),
    }),
    readLayer: (position) => readLayer(context, image, position),
  };
}

function wholeImage({ index }: ImageContext, ref: string): ImageRecord | undefined {
  try {
    return index.findWhole(ref);
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

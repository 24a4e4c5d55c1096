import { createReadStream } from 'node:fs';
import type { LayerBlob } from '../../build/ports.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ImageContext } from '../context.ts';

const READ_BYTES = 256 * 1024;

/** A layer's bytes for others: its tar as it is, of which nothing is computed anew, or compressed into a file. */
export async function layerBlob(
  { index, layers, spools }: ImageContext,
  layerId: number,
  { compression, signal }: { compression: 'gzip' | 'uncompressed'; signal: AbortSignal },
): Promise<LayerBlob> {
  const { diffId } = index.layer(layerId);
  if (compression === 'uncompressed') {
    return {
      digest: diffId,
      bytes: layers.tarBytes(layerId),
      read: () => layers.read(layerId, diffId) as AsyncIterable<Buffer>, // Nobody sets an encoding.
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const spool = await spools.open(`layer ${diffId}`);
  try {
    failpoint('images.build.blob');
    const { digest, sizeBytes } = await layers.pack(layerId, diffId, spool.fd, { signal });
    const part = { fd: spool.fd, autoClose: false, start: 0, end: sizeBytes - 1, highWaterMark: READ_BYTES };
    return {
      digest,
      bytes: sizeBytes,
      read: () => createReadStream('', part) as AsyncIterable<Buffer>, // As above.
      [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
    };
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

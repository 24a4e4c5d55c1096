import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { BuildLayers, LayerBlob } from '../../build/ports.ts';
import { compressZstd } from '../../../storage/compression/compress.ts';
import { failpoint } from '../../base/failpoint.ts';
import type { ImageContext } from '../context.ts';

const READ_BYTES = 256 * 1024;

type Spool = Awaited<ReturnType<ImageContext['spools']['open']>>;
type BlobOptions = Parameters<BuildLayers['blob']>[1];

/** A layer's bytes for others: its tar as it is, of which nothing is computed anew, or compressed into a file. */
export async function layerBlob(
  context: Pick<ImageContext, 'index' | 'layers' | 'spools'>,
  layerId: number,
  options: BlobOptions,
): Promise<LayerBlob> {
  const { index, layers, spools } = context;
  const { diffId } = index.layer(layerId);
  if (options.compression === 'uncompressed') {
    return {
      digest: diffId,
      bytes: layers.tarBytes(layerId),
      read: (from) => without(layers.read(layerId, diffId), from ?? 0),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const spool = await spools.open(`layer ${diffId}`);
  try {
    failpoint('images.build.blob');
    const { digest, sizeBytes } = await packInto(spool, context, layerId, options);
    const part = { fd: spool.fd, autoClose: false, end: sizeBytes - 1, highWaterMark: READ_BYTES };
    return {
      digest,
      bytes: sizeBytes,
      read: (from) => createReadStream('', { ...part, start: from ?? 0 }),
      [Symbol.asyncDispose]: () => spool[Symbol.asyncDispose](),
    };
  } catch (error) {
    await spool[Symbol.asyncDispose]();
    throw error;
  }
}

async function packInto(
  spool: Spool,
  { index, layers }: Pick<ImageContext, 'index' | 'layers'>,
  layerId: number,
  { compression, level, signal }: BlobOptions,
): Promise<{ digest: string; sizeBytes: number }> {
  const { diffId } = index.layer(layerId);
  if (compression === 'gzip') {
    return await layers.pack(layerId, diffId, spool.fd, { signal, ...(level !== undefined && { level }) });
  }
  const hash = createHash('sha256');
  for await (const piece of compressZstd(layers.read(layerId, diffId), level, `layer ${diffId}`)) {
    signal.throwIfAborted();
    hash.update(piece);
    await spool.append([piece]);
  }
  return { digest: `sha256:${hash.digest('hex')}`, sizeBytes: spool.size };
}

/** A tar from one of its bytes on: it is made anew, as nobody has kept it. */
function without(tar: Readable, from: number): Readable {
  if (from === 0) {
    return tar;
  }
  async function* rest(): AsyncGenerator<Buffer> {
    let skip = from;
    // Nobody sets an encoding: its pieces are Buffers.
    for await (const piece of tar as AsyncIterable<Buffer>) {
      yield piece.subarray(Math.min(skip, piece.length));
      skip = Math.max(0, skip - piece.length);
    }
  }
  return Readable.from(rest(), { objectMode: false });
}

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ClientContent } from '../../../../api/types/build/session.ts';
import type { GrowingSpool } from '../../../../storage/spool/growing-spool.ts';
import { EngineError, invalidArgument, notFound } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Blob } from './manifest.ts';
import type { CacheLayers, CacheSource, ImageTarget } from './ports.ts';

const GZIP_LAYER = 'application/vnd.oci.image.layer.v1.tar+gzip';
/** Bytes of one message to the client. */
const PIECE_BYTES = 1024 * 1024;

/** A cache in a directory of the client, which knows its blobs by their digests alone. */
export function clientSource(content: ClientContent): CacheSource {
  return {
    manifest: async (digest, signal) => {
      const size = await content.size(digest, signal);
      if (size === undefined) {
        throw notFound(`the client's directory has no ${digest}`);
      }
      return await readBlob(content, { digest, size }, limits.manifestBytesMax, signal);
    },
    blob: (blob, signal) => readBlob(content, blob, limits.imageConfigBytesMax * 2, signal),
    layer: (blob) => ({
      hold: () => ({ [Symbol.dispose]: () => undefined /* it stays with its session */ }),
      download: async (spool, { signal }) => await download(content, blob, spool, signal),
    }),
    [Symbol.dispose]: () => undefined /* as above */,
  };
}

/** A directory of the client as the place where a cache goes. What it calls it is the client's. */
export function clientTarget(content: ClientContent, layers: Pick<CacheLayers, 'pack'>): ImageTarget {
  const put = async (bytes: Buffer, mediaType: string, signal: AbortSignal): Promise<Blob> => {
    const digest = digestOf(bytes);
    const blob = { digest, size: bytes.length, mediaType };
    await write(content, blob, piecesOf(bytes), signal);
    return blob;
  };
  return {
    has: async ({ digest, size }, signal) => (await content.size(digest, signal)) === size,
    putLayer: async (layerId, signal) => {
      await using packed = await layers.pack(layerId, signal);
      const { digest, size, fd } = packed;
      const end = size - 1;
      const stream = createReadStream('', {
        fd,
        autoClose: false,
        start: 0,
        end,
        highWaterMark: PIECE_BYTES,
      });
      await write(content, { digest, size }, stream, signal);
      return { digest, size, mediaType: GZIP_LAYER };
    },
    putStream: async ({ digest, bytes: size, read }, mediaType, signal) => {
      await write(content, { digest, size }, read(), signal);
      return { digest, size, mediaType };
    },
    putBlob: put,
    putManifest: ({ bytes, mediaType }, signal) => put(bytes, mediaType, signal),
    [Symbol.dispose]: () => undefined /* it stays with its session */,
  };
}

async function write(
  content: ClientContent,
  blob: { digest: string; size: number },
  bytes: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  if ((await content.size(blob.digest, signal)) !== blob.size) {
    await content.write(blob, bytes, signal);
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
    yield await Promise.resolve(bytes.subarray(from, from + PIECE_BYTES));
  }
}

async function readBlob(
  content: ClientContent,
  { digest, size }: { digest: string; size: number },
  bytesMax: number,
  signal: AbortSignal,
): Promise<Buffer> {
  if (size > bytesMax) {
    throw invalidArgument(`${digest}: ${size} bytes, more than ${bytesMax}`);
  }
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of content.read(digest, 0, signal)) {
    length += piece.length;
    if (length > size) {
      throw invalidArgument(`${digest}: has more than the ${size} bytes that are announced`);
    }
    // Pieces are views of messages, which are kept no longer than this.
    pieces.push(Buffer.from(piece));
  }
  const bytes = Buffer.concat(pieces);
  const found = digestOf(bytes);
  if (found !== digest) {
    throw invalidArgument(`${digest}: digest mismatch: its ${length} bytes have ${found}`);
  }
  return bytes;
}

/** All of a layer into a file, whose reader checks its digest. */
async function download(
  content: ClientContent,
  { digest, size }: { digest: string; size: number },
  spool: GrowingSpool,
  signal: AbortSignal,
): Promise<void> {
  for await (const piece of content.read(digest, 0, signal)) {
    if (spool.size + piece.length > size) {
      throw invalidArgument(`${digest}: has more than the ${size} bytes that are announced`);
    }
    await spool.append([piece]);
  }
  if (spool.size !== size) {
    throw new EngineError('remote', `${digest}: cut off after ${spool.size} of ${size} bytes`);
  }
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

import { readSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { TransformOptions } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ZlibOptions } from 'node:zlib';
import { EngineError, errorText, invalidArgument, notImplemented } from '../../daemon/base/errors.ts';

/** A part of an open file that holds a layer's blob. The descriptor is shared by all threads of the process. */
export interface BlobRange {
  fd: number;
  offset: number;
  size: number;
}

export type Compression = 'none' | 'gzip';

/** One read or inflated piece: large enough that calls do not count, small enough to stay in the cache. */
const CHUNK_BYTES = 512 * 1024;

const MAGICS: readonly { name: string; magic: Buffer }[] = [
  { name: 'zstd', magic: Buffer.from('28b52ffd', 'hex') },
  { name: 'xz', magic: Buffer.from('fd377a585a00', 'hex') },
  { name: 'bzip2', magic: Buffer.from('BZh', 'latin1') },
];

/** Bytes that `detectCompression` wants to see. */
export const COMPRESSION_MAGIC_BYTES = 6;

/** How data that begins so is compressed. Throws not_implemented for formats that are known but not supported yet. */
export function detectCompression(start: Buffer, what: string): Compression {
  if (start[0] === 0x1f && start[1] === 0x8b) {
    return 'gzip';
  }
  for (const { name, magic } of MAGICS) {
    if (start.subarray(0, magic.length).equals(magic)) {
      throw notImplemented(`${what}: ${name} compression is not supported yet`);
    }
  }
  return 'none';
}

/** The range's bytes as they are. Each chunk is valid until the next one is asked for. */
export function* readRange(range: BlobRange, what: string): Generator<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(range.size, 1)));
  let done = 0;
  while (done < range.size) {
    const wanted = Math.min(buffer.length, range.size - done);
    const count = readSync(range.fd, buffer, 0, wanted, range.offset + done);
    if (count === 0) {
      throw invalidArgument(`${what}: cut off after ${done} of ${range.size} bytes`);
    }
    done += count;
    yield count === buffer.length ? buffer : buffer.subarray(0, count);
  }
}

/** Inflates ahead while the consumer works: in turns, each piece waits for two threads to be scheduled. */
const GUNZIP_OPTIONS: ZlibOptions & TransformOptions = {
  chunkSize: CHUNK_BYTES,
  readableHighWaterMark: 2 * CHUNK_BYTES,
};

/** Inflates chunks; inflating runs on a pool thread beside the consumer. `seen` gets the compressed bytes. */
export async function* inflate(
  chunks: Iterable<Buffer>,
  what: string,
  seen: (chunk: Buffer) => void,
): AsyncGenerator<Buffer> {
  const compressed = Readable.from(
    (function* copies() {
      for (const chunk of chunks) {
        seen(chunk);
        // The source reuses its buffer while this piece still waits in the stream.
        yield Buffer.from(chunk);
      }
    })(),
    { objectMode: true, highWaterMark: 1 },
  );
  const gunzip = createGunzip(GUNZIP_OPTIONS);
  compressed.once('error', (error) => gunzip.destroy(error));
  compressed.pipe(gunzip);
  try {
    yield* gunzip;
  } catch (error) {
    throw error instanceof EngineError
      ? error
      : invalidArgument(`${what}: cannot decompress gzip: ${errorText(error)}`, { cause: error });
  } finally {
    compressed.destroy();
    gunzip.destroy();
  }
}

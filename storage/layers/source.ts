import { readSync } from 'node:fs';
import { invalidArgument } from '../../daemon/base/errors.ts';
import { decompressAs } from '../compression/decompress.ts';
import { formatOf, MAGIC_BYTES, type CompressionFormat } from '../compression/formats.ts';

/** A part of an open file that holds a layer's blob. The descriptor is shared by all threads of the process. */
export interface BlobRange {
  fd: number;
  offset: number;
  size: number;
}

/** One read: large enough that calls do not count, small enough to stay in the cache. */
const CHUNK_BYTES = 512 * 1024;

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

/** How the range is compressed; undefined = not at all. */
export function rangeFormat(range: BlobRange, what: string): CompressionFormat | undefined {
  for (const start of readRange({ ...range, size: Math.min(range.size, MAGIC_BYTES) }, what)) {
    return formatOf(start);
  }
  return undefined;
}

/** The range's bytes decompressed, beside the consumer's work. `seen` gets them as they are stored. */
export function decompressRange(
  range: BlobRange,
  format: CompressionFormat,
  options: { what: string; seen?: (chunk: Buffer) => void },
): AsyncGenerator<Buffer> {
  const copies = function* (): Generator<Buffer> {
    for (const chunk of readRange(range, options.what)) {
      options.seen?.(chunk);
      // The source reuses its buffer while this piece still waits in the stream.
      yield Buffer.from(chunk);
    }
  };
  return decompressAs(format, copies(), options.what);
}

import { createHash } from 'node:crypto';
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { writeAll } from '../../daemon/base/kernel/files/files.ts';
import { EngineError } from '../../daemon/base/errors.ts';
import { replayLayer } from './replay.ts';

export interface PackRequest {
  /** The layer's directory, and what its tar must be. */
  directory: string;
  diffId: string;
  /** An empty file that gets the blob. */
  fd: number;
  /** Of zlib, 0 to 9; undefined = the usual one, which makes the blobs that registries have. */
  level?: number;
}

/** A layer as registries want it. */
export interface PackedLayer {
  /** sha256:... of the blob. */
  digest: string;
  sizeBytes: number;
}

/** Level 6 takes three times as long for two percent less. */
const LEVEL = 3;
/** Compressed by itself: the same blocks of the same tar are the same bytes. */
const BLOCK_BYTES = 1024 * 1024;
/** No name, no time, unknown system: the blob depends on the tar alone (RFC 1952). */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);

/**
 * Writes a layer's tar as gzip into a file, the same bytes each time. Blocks: for a worker. `isCanceled` stops it;
 * `progress` gets the bytes of the tar done so far.
 */
export function packLayer(
  { directory, diffId, fd, level = LEVEL }: PackRequest,
  control: { isCanceled(): boolean; progress(bytes: number): void },
): PackedLayer {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const write = (bytes: Buffer): void => {
    hash.update(bytes);
    writeAll(fd, bytes);
    sizeBytes += bytes.length;
  };
  let crc = 0;
  let tarBytes = 0;
  let block: Buffer[] = [];
  let blockBytes = 0;
  const endBlock = (finishFlush: number): void => {
    write(deflateRawSync(Buffer.concat(block, blockBytes), { level, finishFlush }));
    block = [];
    blockBytes = 0;
  };
  write(HEADER);
  replayLayer(directory, diffId, (chunk) => {
    if (control.isCanceled()) {
      return false;
    }
    crc = crc32(chunk, crc);
    tarBytes += chunk.length;
    block.push(chunk);
    blockBytes += chunk.length;
    if (blockBytes >= BLOCK_BYTES) {
      endBlock(constants.Z_SYNC_FLUSH);
      control.progress(tarBytes);
    }
    return true;
  });
  if (control.isCanceled()) {
    throw new EngineError('canceled', `layer ${diffId}: canceled`);
  }
  endBlock(constants.Z_FINISH);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(tarBytes % 2 ** 32, 4);
  write(trailer);
  return { digest: `sha256:${hash.digest('hex')}`, sizeBytes };
}

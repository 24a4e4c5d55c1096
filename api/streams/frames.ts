import { pipeline } from 'node:stream/promises';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Reply } from '../pipeline/reply.ts';
import type { ByteStream } from '../types/requests.ts';
import type { Dialect } from '../versions/dialect.ts';

const RAW = 'application/vnd.docker.raw-stream';
const MULTIPLEXED = 'application/vnd.docker.multiplexed-stream';

export type FrameStream = 'stdin' | 'stdout' | 'stderr' | 'systemerr';
const STREAM_TYPE = { stdin: 0, stdout: 1, stderr: 2, systemerr: 3 } as const satisfies Record<
  FrameStream,
  number
>;

/**
 * One frame of output without a TTY: `[type, 0, 0, 0, length as uint32 big-endian]` and the bytes
 * (API documentation, "Stream format").
 */
export function frame(stream: FrameStream, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(8 + payload.length);
  bytes.writeUInt32BE(STREAM_TYPE[stream] * 2 ** 24, 0);
  bytes.writeUInt32BE(payload.length, 4);
  bytes.set(payload, 8);
  return bytes;
}

/** Content types of a hijacked answer. A plain one (200, no Upgrade) has always been raw-stream. */
export function streamTypes(tty: boolean, dialect: Dialect): { upgraded: string; plain: string } {
  return { upgraded: !tty && dialect.speaks('multiplexed-content-type') ? MULTIPLEXED : RAW, plain: RAW };
}

/** Log output: sent as it comes, for as long as the client stays. */
export async function sendFrames(
  reply: Reply,
  stream: ByteStream,
  { dialect, log }: { dialect: Dialect; log: Logger },
): Promise<void> {
  const res = reply.begin(streamTypes(stream.tty, dialect).upgraded);
  // With follow, the first line may be hours away.
  res.flushHeaders();
  try {
    await pipeline(stream.bytes, res);
  } catch (error) {
    log.debug({ err: error }, 'log stream ended early');
  }
}

import type { IncomingMessage } from 'node:http';
import { limits } from '../../../daemon/base/limits.ts';
import { EngineError } from '../../../daemon/base/errors.ts';
import { refused } from './exchange.ts';

/** A body that fits into memory. Throws MANIFEST_INVALID with `isTooLarge` past so many bytes. */
export async function readUpTo(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => req.destroy(), limits.requestBodyTimeoutMs);
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      // A request without an encoding gives buffers.
      const piece = chunk as Buffer;
      size += piece.length;
      if (size > bytesMax) {
        throw refused('MANIFEST_INVALID', `body is larger than ${bytesMax} bytes`, { status: 413 });
      }
      chunks.push(piece);
    }
  } catch (error) {
    throw req.destroyed && !(error instanceof EngineError)
      ? new EngineError('canceled', 'client hung up while sending the body', { cause: error })
      : error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks);
}

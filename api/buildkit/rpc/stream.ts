import { once } from 'node:events';
import type { Http2Stream } from 'node:http2';
import { EngineError, isEngineError } from '../../../daemon/base/errors.ts';
import { frame, FrameReader } from './framing.ts';

/** Nothing can be sent on it any more. */
export function isSoonClosed(stream: Http2Stream): boolean {
  return stream.destroyed || stream.closed || stream.writableEnded;
}

/** Resolves when there is room for more. Rejects with `canceled` when nobody reads any more. */
export async function sendFrame(stream: Http2Stream, message: Uint8Array): Promise<void> {
  if (isSoonClosed(stream)) {
    throw new EngineError('canceled', 'the other side gave the call up');
  }
  if (!stream.write(frame(message))) {
    const stop = new AbortController();
    const { signal } = stop;
    try {
      await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })]);
    } finally {
      stop.abort();
    }
  }
}

/**
 * What the other side sends, message by message; each is valid until the next is asked for. Throws `canceled` when the
 * stream breaks, and as FrameReader.
 */
export async function* messagesOf(stream: Http2Stream, bytesMax: number): AsyncGenerator<Buffer> {
  const reader = new FrameReader(bytesMax);
  try {
    // Nobody sets an encoding: its pieces are Buffers. And it must live on, to be answered.
    for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      yield* reader.push(chunk);
    }
    reader.end();
  } catch (error) {
    throw isEngineError(error)
      ? error
      : new EngineError('canceled', 'the other side gave the call up', { cause: error });
  }
}

import { once } from 'node:events';
import type { Http2Stream } from 'node:http2';
import { EngineError } from '../../../daemon/base/errors.ts';
import { frame } from './framing.ts';
import { Inbox } from './inbox.ts';

const NONE = new Uint8Array();

/** Nothing can be sent on it any more. */
export function isSoonClosed(stream: Http2Stream): boolean {
  return stream.destroyed || stream.closed || stream.writableEnded;
}

/** Resolves when there is room for more. Rejects with `canceled` when nobody reads any more. */
export async function sendFrames(stream: Http2Stream, messages: readonly Uint8Array[]): Promise<void> {
  if (isSoonClosed(stream)) {
    throw new EngineError('canceled', 'the other side gave the call up');
  }
  const [first = NONE] = messages;
  const bytes = messages.length === 1 ? frame(first) : Buffer.concat(messages.map((each) => frame(each)));
  if (!stream.write(bytes)) {
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
 * What the other side sends: the messages that have come since the last look. Throws `canceled` when the stream breaks,
 * and as FrameReader. The stream lives on, to be answered.
 */
export async function* batchesOf(stream: Http2Stream, bytesMax: number): AsyncGenerator<readonly Buffer[]> {
  using inbox = new Inbox(stream, bytesMax);
  for (;;) {
    const messages = await inbox.next();
    if (messages === undefined) {
      return;
    }
    yield messages;
  }
}

/** One by one. */
export async function* flat<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) {
    yield* batch;
  }
}

import type { ServerResponse } from 'node:http';
import { errorText } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Reply } from '../pipeline/reply.ts';

/**
 * Progress of load, import, ...: one JSON object per message, each ended by `\r\n` (moby streamformatter). An error
 * before the first message rejects, so that it becomes a status; a later one is the last message, and with `isTold` the
 * first one as well.
 */
export async function sendJsonLines(
  reply: Reply,
  { messages, isTold = false }: { messages: AsyncIterable<unknown>; isTold?: boolean },
  log: Logger,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const first = iterator.next();
  await (isTold ? Promise.allSettled([first]) : first);
  const res = reply.begin('application/json');
  try {
    let next = await first;
    while (next.done !== true) {
      await writeOrGone(res, `${JSON.stringify(next.value)}\r\n`);
      next = await iterator.next();
    }
  } catch (error) {
    const message = errorText(error);
    log.info({ err: error }, 'progress stream ended by an error');
    if (!res.destroyed) {
      res.write(`${JSON.stringify({ errorDetail: { message }, error: message })}\r\n`);
    }
    // Where the error was ours (the client is gone), the producer is told to stop.
    await iterator.return?.();
  }
  res.end();
}

/** Writes with back-pressure. Rejects when the client has gone, so that the producer ends too. */
export async function writeOrGone(res: ServerResponse, text: string): Promise<void> {
  if (res.destroyed) {
    throw new Error('client hung up');
  }
  if (res.write(text)) {
    return;
  }
  await new Promise<void>((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
  });
}

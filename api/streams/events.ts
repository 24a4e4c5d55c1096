import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from '../../daemon/base/logger.ts';
import type { Reply } from '../pipeline/reply.ts';
import type { EventsType } from '../routes/route.ts';
import { writeOrGone } from './json-lines.ts';

/**
 * One JSON object per line. Headers go out before the first event, as that may be days away and clients start their
 * work only when they have them. What is wrong with the arguments is known within one turn of the event loop and
 * rejects.
 */
export async function sendEvents(
  reply: Reply,
  events: AsyncIterable<unknown>,
  options: {
    contentType: EventsType;
    downgradeItem: ((item: unknown) => unknown) | undefined;
    log: Logger;
  },
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  await Promise.race([first, nextTurn()]);
  const res = reply.begin(options.contentType);
  res.flushHeaders();
  const mark = options.contentType === 'application/json-seq' ? '\x1e' : '';
  try {
    for (let next = await first; next.done !== true; next = await iterator.next()) {
      const event = options.downgradeItem ? options.downgradeItem(next.value) : next.value;
      if (event !== undefined) {
        await writeOrGone(res, `${mark}${eventLine(event)}\n`);
      }
    }
    res.end();
  } catch (error) {
    options.log.info({ err: error }, 'event stream ended by an error');
    // The client must notice that events are missing: the connection breaks, it does not end.
    res.destroy();
    await iterator.return?.();
  }
}

/** JSON of an event. `timeNano` is a bigint beyond what a JSON number of JavaScript holds, so it is spelled out. */
export function eventLine(event: unknown): string {
  if (typeof event !== 'object' || event === null || !('timeNano' in event)) {
    return JSON.stringify(event);
  }
  const { timeNano, ...rest } = event;
  return `${JSON.stringify(rest).slice(0, -1)},"timeNano":${String(timeNano)}}`;
}

import type { Clock } from '../../../daemon/base/clock.ts';
import { pause } from '../../../daemon/base/concurrency/pause.ts';
import { errorText } from '../../../daemon/base/errors.ts';
import type { Logger } from '../../../daemon/base/logger.ts';

const RETRY_FIRST_MS = 50;
const RETRY_MAX_MS = 5_000;

/**
 * Does `work` at once, whenever `wake` was called, and after each `sweepMs`; again after a growing pause where it
 * fails. Disposal ends it, after the work that is being done.
 */
export function repeatWhile(
  { clock, logger, what, sweepMs }: { clock: Clock; logger: Logger; what: string; sweepMs: number },
  listen: (wake: () => void) => Disposable,
  work: () => Promise<void>,
): AsyncDisposable {
  const closed = new AbortController();
  let isDue = false;
  let waiting = new AbortController();
  const subscription = listen(() => {
    isDue = true;
    waiting.abort();
  });
  const run = async (): Promise<void> => {
    let retryMs = RETRY_FIRST_MS;
    while (!closed.signal.aborted) {
      isDue = false;
      let pauseMs = sweepMs;
      try {
        await work();
        retryMs = RETRY_FIRST_MS;
      } catch (error) {
        logger.warn({ error: errorText(error), what }, 'a loop of the swarm tries again');
        pauseMs = retryMs;
        retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
      }
      waiting = new AbortController();
      if (!isDue) {
        await pause(clock, pauseMs, AbortSignal.any([closed.signal, waiting.signal]));
      }
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      closed.abort();
      subscription[Symbol.dispose]();
      await running;
    },
  };
}

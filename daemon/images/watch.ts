import { setTimeout as sleep } from 'node:timers/promises';

/** Time between two looks. */
const INTERVAL_MS = 100;

/**
 * What `changes` has to tell, looked at again and again while `work` runs and once after it. Failures of `work` are
 * left to whoever awaits it.
 */
export async function* watch<T>(work: Promise<unknown>, changes: () => Iterable<T>): AsyncGenerator<T> {
  const state = { done: false };
  const finished = (async () => {
    await Promise.allSettled([work]);
    state.done = true;
  })();
  while (!state.done) {
    const stop = new AbortController();
    // An aborted sleep rejects; that is its end, not a failure.
    const tick = sleep(INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {});
    await Promise.race([finished, tick]);
    stop.abort();
    yield* changes();
  }
}

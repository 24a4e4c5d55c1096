import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgressMessage } from '../../api/types/image.ts';
import { limits } from '../base/limits.ts';

/** Time between two looks. */
const INTERVAL_MS = 100;

/**
 * What `changes` has to tell, looked at again and again while `work` runs and once after it. Failures of `work` are
 * left to the code that awaits it.
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

/**
 * The result of `work`, which asks another server. When that takes long the client is told which one it waits for: else
 * a slow name server looks like a daemon that hangs. `discard` gets a result that comes after the client has gone.
 */
export async function* waitingFor<T>(
  server: string,
  work: Promise<T>,
  discard: (result: T) => void,
): AsyncGenerator<ProgressMessage, T> {
  let isTold = false;
  let isTaken = false;
  const since = performance.now();
  try {
    yield* watch(work, () => {
      if (isTold || performance.now() - since < limits.waitingToldMs) {
        return [];
      }
      isTold = true;
      return [{ status: `Waiting for ${server}` }];
    });
    isTaken = true;
    return await work;
  } finally {
    if (!isTaken) {
      // The client left at a message: its signal ends the work, whose failure is no longer of interest.
      work.then(discard, () => {});
    }
  }
}

import type { Clock } from '../clock.ts';

/** Whether `event` came within `timeoutMs`; a negative time waits for ever. */
export async function withTimeout(
  clock: Clock,
  event: Promise<unknown>,
  timeoutMs: number,
): Promise<boolean> {
  if (timeoutMs < 0) {
    await event;
    return true;
  }
  let timer: Disposable | undefined;
  const expired = new Promise<false>((resolve) => {
    timer = clock.setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([event.then(() => true), expired]);
  } finally {
    timer?.[Symbol.dispose]();
  }
}

/**
 * Runs independent steps at the same time and waits for all of them, also when one fails: what a step undoes later
 * must be known by then. Rejects with the first failure.
 */
export async function together<T extends readonly unknown[]>(
  ...steps: { [K in keyof T]: Promise<T[K]> }
): Promise<T> {
  const results = await Promise.allSettled(steps);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    throw failed.reason;
  }
  // allSettled keeps order and types; the compiler does not connect them for a mapped tuple.
  return results.map((result) => (result.status === 'fulfilled' ? result.value : undefined)) as unknown as T;
}

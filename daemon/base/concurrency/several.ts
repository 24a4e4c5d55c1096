import { Semaphore } from './semaphore.ts';

/**
 * Does the same with each item, `max` at a time; answers in the order of the items. The first that fails ends the
 * others by their signal, and is what is thrown, when nothing goes on any more.
 */
export async function several<T, R>(
  items: readonly T[],
  { max, signal }: { max: number; signal: AbortSignal },
  work: (item: T, signal: AbortSignal) => Promise<R>,
): Promise<R[]> {
  const slots = new Semaphore(max);
  const stop = new AbortController();
  const ends = AbortSignal.any([signal, stop.signal]);
  const settled = await Promise.allSettled(
    items.map(async (item) => {
      try {
        using _slot = await slots.acquire(ends);
        ends.throwIfAborted();
        return await work(item, ends);
      } catch (error) {
        stop.abort(error);
        throw error;
      }
    }),
  );
  stop.signal.throwIfAborted();
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

/**
 * Values of all sources as they come, one after the other: no source is asked for its next value before the one before
 * was taken. It ends when all have ended or `signal` fires; a source that fails ends all of them.
 */
export async function* merged<T>(
  sources: readonly AsyncIterable<T>[],
  signal: AbortSignal,
): AsyncIterable<T> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]());
  const asked = new Map(iterators.map((iterator, at) => [at, next(iterator, at)]));
  const end = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    while (asked.size > 0 && !signal.aborted) {
      const came = await Promise.race([end, ...asked.values()]);
      if (came === undefined) {
        return;
      }
      const iterator = iterators[came.at];
      if (came.result.done === true || iterator === undefined) {
        asked.delete(came.at);
        continue;
      }
      asked.set(came.at, next(iterator, came.at));
      yield came.result.value;
    }
  } finally {
    for (const promise of asked.values()) {
      // A failure of one that is not read any more has no reader.
      void promise.catch(() => undefined);
    }
    for (const iterator of iterators) {
      // The same; and one that waits for its next value ends when it has it.
      void iterator.return?.().catch(() => undefined);
    }
  }
}

async function next<T>(
  iterator: AsyncIterator<T>,
  at: number,
): Promise<{ at: number; result: IteratorResult<T> }> {
  return { at, result: await iterator.next() };
}

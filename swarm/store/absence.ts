import { StoreError } from './errors.ts';
import type { Store } from './port.ts';

export type Readable = Pick<Store, 'view' | 'watch'>;

/** Resolves when a key does not exist; rejects with `canceled` when the signal comes first. */
export async function whenAbsent(store: Readable, key: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const revision = await revisionWith(store, key);
    if (revision === undefined) {
      return;
    }
    await nextDeletion(store, { key, from: revision + 1 }, signal);
  }
  throw new StoreError('canceled', `wait until ${key} is gone: given up`);
}

/** The store's revision where the key exists. */
async function revisionWith(store: Readable, key: string): Promise<number | undefined> {
  for await (const page of store.view(key)) {
    return page.entries.some((entry) => entry.key === key) ? page.revision : undefined;
  }
  return undefined;
}

function nextDeletion(
  store: Readable,
  { key, from }: { key: string; from: number },
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      watch[Symbol.dispose]();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const watch = store.watch(key, from, {
      onChanges: (changes) => {
        if (changes.some((change) => change.kind === 'delete' && change.key === key)) {
          done();
        }
      },
      onRelist: done,
    });
    signal.addEventListener('abort', done);
    if (signal.aborted) {
      done();
    }
  });
}

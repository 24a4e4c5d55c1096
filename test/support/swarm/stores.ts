import { expect } from 'vitest';
import { StoreError } from '../../../swarm/store/errors.ts';
import type { Change, Entry, Store, WatchListener, Write } from '../../../swarm/store/port.ts';
import { WAIT_MS } from '../patience.ts';

/** What a watch told, one line a change. */
export class Told implements WatchListener {
  readonly calls: { text: string[]; revision: number }[] = [];
  relist: string | undefined;

  onChanges(changes: readonly Change[], revision: number): void {
    if (changes.length > 0) {
      this.calls.push({ text: changes.map(textOf), revision });
    }
  }

  onRelist(reason: string): void {
    this.relist = reason;
  }

  async until(revision: number): Promise<void> {
    await expect
      .poll(() => this.calls.at(-1)?.revision ?? 0, { timeout: WAIT_MS, interval: 5 })
      .toBeGreaterThanOrEqual(revision);
  }
}

/** Key, value, revision and created of what was put; key and revision of what was deleted. */
export function textOf(change: Change): string {
  if (change.kind === 'delete') {
    return `${change.key} deleted ${change.revision}`;
  }
  const { key, value, revision, created } = change.entry;
  return `${key} ${value.toString()} ${revision} ${created}`;
}

export function put(key: string, text: string): Write {
  return { kind: 'put', key, value: Buffer.from(text) };
}

export async function only(store: Store, key: string): Promise<Entry | undefined> {
  for await (const page of store.view(key)) {
    return page.entries.find((entry) => entry.key === key);
  }
  return undefined;
}

export async function failureOf(work: Promise<unknown>): Promise<StoreError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof StoreError) {
      return error;
    }
    throw error;
  }
  throw new Error('it did not fail');
}

/** Until the store answers: nothing says when it is back. `again`: which refusals are no answer. */
export async function persistent<T>(
  work: () => Promise<T>,
  again: (error: StoreError) => boolean = () => true,
): Promise<T> {
  const endMs = Date.now() + WAIT_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > endMs || (error instanceof StoreError && !again(error))) {
        throw error;
      }
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
  }
}

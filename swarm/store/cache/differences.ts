import { crc32 } from 'node:zlib';
import type { Change, Entry } from '../port.ts';

/** An entry of the cache. */
export interface Kept<V> extends Entry<V> {
  /** Of the bytes that its value was read from, which are not kept. */
  sum: number;
}

/** @param read What is kept of an entry's value in place of its bytes. */
export function keep<V>(entry: Entry, read: (entry: Entry) => V): Kept<V> {
  const { key, revision, created } = entry;
  return { key, value: read(entry), revision, created, sum: sumOf(entry) };
}

/** After a restored backup an entry may be older than the one that is kept, or another one of the same revision. */
export function isKept(kept: Kept<unknown>, entry: Entry): boolean {
  return kept.revision === entry.revision && kept.created === entry.created && kept.sum === sumOf(entry);
}

/** What has to change for `before` to become `after`, which was listed at a revision: the same entries are in both. */
export function differencesOf<V>(
  before: ReadonlyMap<string, Kept<V>>,
  after: ReadonlyMap<string, Kept<V>>,
  revision: number,
): Change<V>[] {
  const changes: Change<V>[] = [];
  for (const entry of after.values()) {
    if (before.get(entry.key) !== entry) {
      changes.push({ kind: 'put', entry });
    }
  }
  for (const key of before.keys()) {
    if (!after.has(key)) {
      changes.push({ kind: 'delete', key, revision });
    }
  }
  return changes;
}

/** Signed, as that is a small integer to V8 and takes no memory of its own. */
function sumOf({ value }: Entry): number {
  return crc32(value) | 0;
}

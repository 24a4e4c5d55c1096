import type { Change, Entry } from '../port.ts';

/** What has to change for `before` to become `after`, which was listed at a revision. */
export function differencesOf(
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>,
  revision: number,
): Change[] {
  const changes: Change[] = [];
  for (const entry of after.values()) {
    const known = before.get(entry.key);
    // After a restored backup an entry may be older than the one that was known, or another one of the same revision.
    if (
      known?.revision !== entry.revision ||
      known.created !== entry.created ||
      !known.value.equals(entry.value)
    ) {
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

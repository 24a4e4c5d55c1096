import type { Cluster } from '../../cluster/cluster.ts';
import { isSealedKey, OLDEST_DATA_KEY, sealedKey } from '../../objects/values.ts';
import { sealedBy, type Keyring } from '../../store/sealed.ts';
import type { Entry } from '../../store/port.ts';

/** What the store says of its data keys. Pure. */

/** The id of the key that values are to be sealed with: the unlock key always is. Undefined before the first write. */
export function wantedKey(cluster: Cluster): number | undefined {
  const entry = cluster.value(sealedKey.unlockKey());
  return entry && sealedBy(entry.key, entry.value);
}

/** Keys before it are to be dropped; 0: none. */
export function oldestKept(cluster: Cluster): number {
  return Number(cluster.value(OLDEST_DATA_KEY)?.value.toString() ?? 0);
}

/** Values that are sealed with keys older than `id`, of those that the keyring has: nobody can seal others anew. */
export function sealedBefore(cluster: Cluster, id: number, keyring: Keyring): Entry[] {
  return [...cluster.values('')].filter(({ key, value }) => {
    if (!isSealedKey(key)) {
      return false;
    }
    const by = sealedBy(key, value);
    return by < id && keyring.has(by);
  });
}

export function opens(keyring: Keyring, entry: Entry): boolean {
  try {
    keyring.open(entry.key, entry.value);
    return true;
  } catch {
    // Another key, or another one of that id.
    return false;
  }
}

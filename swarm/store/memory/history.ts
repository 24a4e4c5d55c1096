import type { Change, Entry } from '../port.ts';

interface Version {
  revision: number;
  /** Undefined: deleted at this revision. */
  entry: Entry | undefined;
}

export type HistoryWrite = { kind: 'put'; key: string; value: Buffer } | { kind: 'delete'; key: string };

/**
 * Keys with all their versions since the last compaction, numbered as etcd numbers them: an empty store is at revision
 * 1, a transaction that changes nothing has no revision of its own.
 */
export class History {
  #revision = 1;
  #compactedTo = 0;
  readonly #versions = new Map<string, Version[]>();
  #log: { revision: number; changes: Change[] }[] = [];

  get revision(): number {
    return this.#revision;
  }

  /** The oldest revision that can still be read. */
  get compactedTo(): number {
    return this.#compactedTo;
  }

  get(key: string): Entry | undefined {
    return this.#versions.get(key)?.at(-1)?.entry;
  }

  /** Entries below a prefix at a revision, sorted by key. */
  at(prefix: string, revision: number): Entry[] {
    const entries: Entry[] = [];
    for (const [key, versions] of this.#versions) {
      const version = key.startsWith(prefix)
        ? versions.findLast((candidate) => candidate.revision <= revision)
        : undefined;
      if (version?.entry !== undefined) {
        entries.push(version.entry);
      }
    }
    return entries.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Applies one transaction; answers the revision of the store after it. */
  apply(writes: readonly HistoryWrite[]): number {
    const revision = this.#revision + 1;
    const changes: Change[] = [];
    for (const write of writes) {
      const before = this.get(write.key);
      if (write.kind === 'delete' && before === undefined) {
        continue;
      }
      const change: Change =
        write.kind === 'delete'
          ? { kind: 'delete', key: write.key, revision }
          : {
              kind: 'put',
              entry: { key: write.key, value: write.value, revision, created: before?.created ?? revision },
            };
      const versions = this.#versions.get(write.key) ?? [];
      versions.push({ revision, entry: change.kind === 'put' ? change.entry : undefined });
      this.#versions.set(write.key, versions);
      changes.push(change);
    }
    if (changes.length > 0) {
      this.#revision = revision;
      this.#log.push({ revision, changes });
    }
    return this.#revision;
  }

  /** Changes below a prefix from a revision on, one list a revision. */
  since(prefix: string, from: number): Change[][] {
    const first = this.#log.findLastIndex(({ revision }) => revision < from) + 1;
    return this.#log
      .slice(first)
      .map(({ changes }) => changes.filter((change) => keyOf(change).startsWith(prefix)))
      .filter((changes) => changes.length > 0);
  }

  compact(revision: number): void {
    this.#compactedTo = revision;
    this.#log = this.#log.filter((logged) => logged.revision >= revision);
    for (const [key, versions] of this.#versions) {
      const newest = versions.findLastIndex((version) => version.revision <= revision);
      const kept = versions.slice(Math.max(newest, 0));
      if (kept.length === 1 && kept[0]?.entry === undefined) {
        this.#versions.delete(key);
      } else {
        this.#versions.set(key, kept);
      }
    }
  }
}

export function keyOf(change: Change): string {
  return change.kind === 'put' ? change.entry.key : change.key;
}

import type { HubRecord } from './port.ts';

/**
 * Records by key, in a map for each first part of a key, and for each first two of a key of three (`tag/12/latest` is
 * in `tag/12/`): to go through those of one kind, or of one repository, passes by no others.
 */
export class KnownRecords {
  readonly #groups = new Map<string, Map<string, HubRecord>>();

  get(key: string): HubRecord | undefined {
    return this.#groups.get(groupOf(key))?.get(key);
  }

  set(record: HubRecord): void {
    const name = groupOf(record.key);
    const group = this.#groups.get(name) ?? new Map<string, HubRecord>();
    group.set(record.key, record);
    this.#groups.set(name, group);
  }

  delete(key: string): void {
    const name = groupOf(key);
    const group = this.#groups.get(name);
    if (group?.delete(key) === true && group.size === 0) {
      this.#groups.delete(name);
    }
  }

  clear(): void {
    this.#groups.clear();
  }

  /** Those below a prefix, in no order. */
  *below(prefix: string): Generator<HubRecord> {
    const own = groupOf(prefix);
    if (own === prefix && own.indexOf('/') < own.length - 1) {
      yield* this.#groups.get(own)?.values() ?? [];
      return;
    }
    for (const [name, group] of this.#groups) {
      if (name.startsWith(prefix) || prefix.startsWith(name)) {
        for (const record of group.values()) {
          if (record.key.startsWith(prefix)) {
            yield record;
          }
        }
      }
    }
  }
}

/** `account/alice` is in `account/`, `tag/12/latest` in `tag/12/`. */
function groupOf(key: string): string {
  const first = key.indexOf('/');
  const second = key.indexOf('/', first + 1);
  return key.slice(0, (second < 0 ? first : second) + 1);
}

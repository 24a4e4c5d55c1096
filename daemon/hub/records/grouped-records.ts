import type { HubRecord } from './port.ts';

/**
 * Records by key, in groups by the first two parts of a key of three (`tag/12/latest` is in `tag/12/`): those of one
 * repository are found without a look at all others.
 */
export class GroupedRecords {
  readonly #groups = new Map<string, Map<string, HubRecord>>();

  get(key: string): HubRecord | undefined {
    return this.#groups.get(groupOf(key))?.get(key);
  }

  set(record: HubRecord): void {
    const name = groupOf(record.key);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new Map();
      this.#groups.set(name, group);
    }
    group.set(record.key, record);
  }

  delete(key: string): void {
    const name = groupOf(key);
    const group = this.#groups.get(name);
    if (group?.delete(key) === true && group.size === 0) {
      this.#groups.delete(name);
    }
  }

  /** In no order. */
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

function groupOf(key: string): string {
  const first = key.indexOf('/');
  const second = key.indexOf('/', first + 1);
  return key.slice(0, (second < 0 ? first : second) + 1);
}

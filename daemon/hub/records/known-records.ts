import type { HubRecord } from './port.ts';

/** Records by key, in a map for each first part of a key: to go through the few of one kind passes by no others. */
export class KnownRecords {
  readonly #kinds = new Map<string, Map<string, HubRecord>>();

  get(key: string): HubRecord | undefined {
    return this.#kinds.get(kindOf(key))?.get(key);
  }

  set(record: HubRecord): void {
    const kind = kindOf(record.key);
    const known = this.#kinds.get(kind) ?? new Map<string, HubRecord>();
    known.set(record.key, record);
    this.#kinds.set(kind, known);
  }

  delete(key: string): void {
    this.#kinds.get(kindOf(key))?.delete(key);
  }

  clear(): void {
    this.#kinds.clear();
  }

  /** Those below a prefix, in no order. */
  *below(prefix: string): Generator<HubRecord> {
    const kinds = prefix.includes('/') ? [this.#kinds.get(kindOf(prefix))] : this.#kinds.values();
    for (const known of kinds) {
      for (const record of known?.values() ?? []) {
        if (record.key.startsWith(prefix)) {
          yield record;
        }
      }
    }
  }
}

/** `account/alice` -> `account`. */
function kindOf(key: string): string {
  const end = key.indexOf('/');
  return end < 0 ? key : key.slice(0, end);
}

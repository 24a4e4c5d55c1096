import type { StoreChange, TargetStore } from './port.ts';

/** Records of one kind, `<prefix><id>`. */
export class Table<T extends object> {
  readonly #store: TargetStore;
  readonly #prefix: string;

  constructor(store: TargetStore, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
  }

  get(id: string): T | undefined {
    // All values below the prefix are written by this class.
    return this.#store.get(this.#prefix + id)?.value as T | undefined;
  }

  /** Those whose ids begin so, in order of ids. */
  below(start = ''): T[] {
    const found = Array.from(this.#store.below(this.#prefix + start));
    // As in `get`.
    return found.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ value }) => value as T);
  }

  count(start = ''): number {
    return Array.from(this.#store.below(this.#prefix + start)).length;
  }

  /** A change that holds if the record is still the one that `get` answers now. */
  put(id: string, value: T): StoreChange {
    return { kind: 'put', key: this.#prefix + id, value, expected: this.#revisionOf(id) };
  }

  /** As `put`. */
  delete(id: string): StoreChange {
    return { kind: 'delete', key: this.#prefix + id, expected: this.#revisionOf(id) };
  }

  #revisionOf(id: string): number {
    return this.#store.get(this.#prefix + id)?.revision ?? 0;
  }
}

import type { Mirror } from './mirror.ts';
import type { RecordChange } from './port.ts';

/** Records of one kind, `<prefix><id>`, with the type of their values. */
export class Collection<T extends object> {
  readonly #mirror: Mirror;
  readonly #prefix: string;

  constructor(mirror: Mirror, prefix: string) {
    this.#mirror = mirror;
    this.#prefix = prefix;
  }

  get(id: string): T | undefined {
    // All values below the prefix are written by this class.
    return this.#mirror.get(this.#prefix + id)?.value as T | undefined;
  }

  all(): T[] {
    return this.below('');
  }

  /** Those whose ids begin so, in no order. */
  below(start: string): T[] {
    // As in `get`.
    return Array.from(this.#mirror.below(this.#prefix + start), ({ value }) => value as T);
  }

  /** Those of one folder of them, `12/`; in no order. */
  in(folder: string): T[] {
    // As in `get`.
    return Array.from(this.#mirror.below(this.#prefix + folder), ({ value }) => value as T);
  }

  /** A change that holds if the record is still the one that `get` answers now. */
  put(id: string, value: T): RecordChange {
    return { kind: 'put', key: this.#prefix + id, value, expected: this.#revisionOf(id) };
  }

  /** As `put`. */
  delete(id: string): RecordChange {
    return { kind: 'delete', key: this.#prefix + id, expected: this.#revisionOf(id) };
  }

  /** The record is as it is now when the other changes of its update are made. */
  unchanged(id: string): RecordChange {
    return { kind: 'check', key: this.#prefix + id, expected: this.#revisionOf(id) };
  }

  #revisionOf(id: string): number {
    return this.#mirror.get(this.#prefix + id)?.revision ?? 0;
  }
}

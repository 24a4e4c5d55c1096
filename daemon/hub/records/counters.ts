import { Collection } from './collection.ts';
import type { Mirror } from './mirror.ts';
import type { RecordChange } from './port.ts';

/** Ids that count up from 1 and never come again. Records `counter/<kind>`. */
export class Counters {
  readonly #counters: Collection<{ last: number }>;

  constructor(mirror: Mirror) {
    this.#counters = new Collection(mirror, 'counter/');
  }

  /**
   * The next id, given when `change` is made in the same update as what gets it. `after`: the one before, where an
   * update gives several; only the last change is made.
   */
  next(kind: string, after?: number): { id: number; change: RecordChange } {
    const id = (after ?? this.#counters.get(kind)?.last ?? 0) + 1;
    return { id, change: this.#counters.put(kind, { last: id }) };
  }
}

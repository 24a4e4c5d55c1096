import { Collection } from './collection.ts';
import type { Mirror } from './mirror.ts';
import type { RecordChange } from './port.ts';

/** Ids that count up from 1 and never come again. Records `counter/<kind>`. */
export class Counters {
  readonly #counters: Collection<{ last: number }>;

  constructor(mirror: Mirror) {
    this.#counters = new Collection(mirror, 'counter/');
  }

  /** The next id, given when `change` is made in the same update as what gets it. */
  next(kind: string): { id: number; change: RecordChange } {
    const id = (this.#counters.get(kind)?.last ?? 0) + 1;
    return { id, change: this.#counters.put(kind, { last: id }) };
  }
}

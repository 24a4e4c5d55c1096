import type { Write } from '../objects/parts.ts';

/**
 * The writes of one pass: the last one of each part counts, where it stands. They may be stored in several
 * transactions, in this order: what is given to a task when it is placed comes after what set it free.
 */
export class WriteBatch {
  readonly #writes = new Map<string, Write>();

  add(write: Write): void {
    const key = `${write.part}/${write.id}`;
    this.#writes.delete(key);
    this.#writes.set(key, write);
  }

  get writes(): Write[] {
    return [...this.#writes.values()];
  }
}

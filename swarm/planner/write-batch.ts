import type { Write } from '../objects/parts.ts';

/** The writes of one pass: the last one of each part counts, where the first one stood. */
export class WriteBatch {
  readonly #writes = new Map<string, Write>();

  add(write: Write): void {
    this.#writes.set(`${write.part}/${write.id}`, write);
  }

  get writes(): Write[] {
    return [...this.#writes.values()];
  }
}

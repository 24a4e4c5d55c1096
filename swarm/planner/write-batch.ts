import type { Write } from '../objects/parts.ts';

interface Entry {
  write: Write;
  isFreeing: boolean;
}

/**
 * The writes of one pass: the last one of each part counts, where it stands. They may be stored in several
 * transactions, in this order: what is given to somebody comes after what set it free. So a write that sets something
 * free is not moved behind others by a later one of the same part: both stand, and no transaction takes both.
 */
export class WriteBatch {
  readonly #entries = new Set<Entry>();
  readonly #latest = new Map<string, Entry>();
  #newest: Entry | undefined;

  /** @param isFreeing Whether an address or a port that somebody had is nobody's by this write. */
  add(write: Write, { isFreeing }: { isFreeing: boolean }): void {
    const key = `${write.part}/${write.id}`;
    const earlier = this.#latest.get(key);
    const stays = earlier?.isFreeing === true && earlier !== this.#newest;
    if (earlier !== undefined && !stays) {
      this.#entries.delete(earlier);
    }
    const entry = { write, isFreeing: isFreeing || (earlier?.isFreeing === true && !stays) };
    this.#entries.add(entry);
    this.#latest.set(key, entry);
    this.#newest = entry;
  }

  get writes(): Write[] {
    return [...this.#entries].map(({ write }) => write);
  }
}

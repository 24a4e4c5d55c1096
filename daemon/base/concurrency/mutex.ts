/**
 * Serialises asynchronous work per key: at most one `run` of a key is active, the others wait in order of arrival.
 *
 * INVARIANTS
 * - Not re-entrant: calling `run` for a key from inside `run` of the same key waits for ever.
 * - Hold it around kernel work and SQLite, never around a registry, a client's socket or a human.
 * - A rejected task releases the key like a finished one.
 */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  async run<T>(key: string, task: () => Promise<T> | T): Promise<T> {
    const previous = this.#tails.get(key);
    let release!: () => void;
    const tail = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#tails.set(key, tail);
    try {
      if (previous) {
        await previous;
      }
      return await task();
    } finally {
      release();
      if (this.#tails.get(key) === tail) {
        this.#tails.delete(key);
      }
    }
  }

  /** True while a task of this key runs or waits. */
  isLocked(key: string): boolean {
    return this.#tails.has(key);
  }
}

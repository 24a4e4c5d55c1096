/**
 * What is being deleted behind the answers: space that the disk does not have back yet, though the client was answered.
 * A request that meets a full disk waits for it before it gives up.
 */
export class Removals {
  readonly #running = new Set<Promise<void>>();

  /** The same promise, kept in mind until it is settled. */
  async track(removal: Promise<void>): Promise<void> {
    this.#running.add(removal);
    try {
      await removal;
    } finally {
      this.#running.delete(removal);
    }
  }

  /** Whether something is being deleted. */
  get busy(): boolean {
    return this.#running.size > 0;
  }

  /** Resolves when all that is being deleted now has gone, or could not. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}

/**
 * Hands out turns of the event loop, one to a waiter. Work that is short but synchronous (a handful of system calls and
 * a commit) asks for one first: eight containers at once then delay other requests by one piece of work, not by eight.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a turn of the loop that no other caller has got. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) {
        setImmediate(this.#give);
      }
    });
  }

  /** Acts on the items in order, at most `size` of them in one turn; the first are done at once. */
  async inPieces<T>(items: readonly T[], size: number, act: (piece: readonly T[]) => void): Promise<void> {
    for (let first = 0; first < items.length; first += size) {
      if (first > 0) {
        await this.next();
      }
      act(items.slice(first, first + size));
    }
  }

  readonly #give = (): void => {
    const [first] = this.#waiting;
    first?.();
    this.#waiting.shift();
    if (this.#waiting.length > 0) {
      // Called from an immediate, this one belongs to the next turn: timers and clients come first.
      setImmediate(this.#give);
    }
  };
}

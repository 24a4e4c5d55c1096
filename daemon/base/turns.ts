/**
 * Hands out turns of the event loop, one to a waiter. Work that is short but synchronous (a handful of system calls and
 * a commit) asks for one first: eight containers at once then delay everybody else by one piece of work, not by eight.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a turn of the loop that nobody else who asked has got. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) {
        setImmediate(this.#give);
      }
    });
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

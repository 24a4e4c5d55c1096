/** What a build took. All in milliseconds. */
export interface Shares {
  /** From the call that asks for the build to its answer, the client's reading and sending of files within it. */
  solveMs: number;
  /** While an answer of the engine was due, and nothing of the client. */
  engineMs: number;
}

/** Adds up whose turn it was. */
export class Turns {
  /** Answers of the engine that are due. */
  #engine = 0;
  /** What the client has been asked for, and has not sent. */
  #client = 0;
  #engineMs = 0;
  #since = performance.now();
  #solveBegan: number | undefined;
  #solveMs = 0;

  engine(change: 1 | -1): void {
    this.#count();
    this.#engine += change;
  }

  client(change: 1 | -1): void {
    this.#count();
    this.#client += change;
  }

  solveBegins(): void {
    this.#solveBegan = performance.now();
  }

  /** A client asks first for a build of nothing, which tells it what the engine can: the last one counts. */
  solveEnds(): void {
    this.#solveMs = performance.now() - (this.#solveBegan ?? NaN);
  }

  shares(): Shares {
    this.#count();
    return { solveMs: this.#solveMs, engineMs: this.#engineMs };
  }

  #count(): void {
    const now = performance.now();
    if (this.#engine > 0 && this.#client === 0) {
      this.#engineMs += now - this.#since;
    }
    this.#since = now;
  }
}

/** Lets at most `permits` tasks run at a time; the others wait in order of arrival. */
export class Semaphore {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) {
      this.#free -= 1;
    } else {
      await new Promise<void>((resolve) => {
        this.#queue.push(resolve);
      });
    }
    try {
      return await task();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) {
        this.#free += 1;
      } else {
        next();
      }
    }
  }
}

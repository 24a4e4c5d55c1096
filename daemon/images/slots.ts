import { EngineError } from '../base/errors.ts';

/** Lets so many tasks run at a time as a setting says now; the others wait in line, or leave it. */
export class Slots {
  readonly #max: () => number;
  #running = 0;
  readonly #line: (() => void)[] = [];

  constructor(max: () => number) {
    this.#max = max;
  }

  /** Throws canceled when the signal fires before the task has begun. */
  async run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    while (this.#running >= this.#max()) {
      await this.#turn(signal);
    }
    this.#running += 1;
    try {
      signal.throwIfAborted();
      return await task();
    } finally {
      this.#running -= 1;
      // One may have left the line, or the setting grown: all look again, in their order.
      for (const next of this.#line.splice(0)) {
        next();
      }
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    if (signal.aborted) {
      throw new EngineError('canceled', 'canceled');
    }
    await new Promise<void>((resolve) => {
      const leave = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#line.push(leave);
    });
    if (signal.aborted) {
      throw new EngineError('canceled', 'canceled');
    }
  }
}

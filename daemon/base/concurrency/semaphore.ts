import { EngineError } from '../errors.ts';

/** Lets at most so many run at a time, as many as a setting says now; the others wait in order of arrival. */
export class Semaphore {
  readonly #max: () => number;
  #taken = 0;
  readonly #line: (() => void)[] = [];

  constructor(max: number | (() => number)) {
    this.#max = typeof max === 'number' ? () => max : max;
  }

  /** As `acquire`, for one task. */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    using _permit = await this.acquire(signal);
    return await task();
  }

  /** A permit, released when it is disposed. Throws canceled when the signal fires before there is one. */
  async acquire(signal?: AbortSignal): Promise<Disposable> {
    await this.#turn(signal);
    return this.#permit();
  }

  /** A permit where there is one now and nobody waits for it. */
  acquireNow(): Disposable | undefined {
    if (this.#taken >= this.#max() || this.#line.length > 0) {
      return undefined;
    }
    this.#taken += 1;
    return this.#permit();
  }

  /** Of what is taken. */
  #permit(): Disposable {
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) {
          isHeld = false;
          this.#taken -= 1;
          this.#admit();
        }
      },
    };
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener('abort', leave);
        this.#taken += 1;
        resolve();
      };
      const leave = (): void => {
        const place = this.#line.indexOf(enter);
        this.#line.splice(place, place < 0 ? 0 : 1);
        reject(new EngineError('canceled', 'canceled'));
      };
      if (signal?.aborted === true) {
        leave();
        return;
      }
      signal?.addEventListener('abort', leave, { once: true });
      this.#line.push(enter);
      this.#admit();
    });
  }

  /** The setting may have grown meanwhile: then more than one goes in. */
  #admit(): void {
    while (this.#taken < this.#max()) {
      const next = this.#line.shift();
      if (next === undefined) {
        return;
      }
      next();
    }
  }
}

import type { Clock } from '../../../daemon/base/clock.ts';

/** A clock as a process has it that can be stopped (SIGSTOP): its timers come when it goes on. */
export class FreezableClock implements Clock {
  readonly #clock: Clock;
  #thawed = Promise.resolve();
  #thaw: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  nowNano(): bigint {
    return this.#clock.nowNano();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  setTimeout(callback: () => void, delayMs: number): Disposable {
    let disposed = false;
    const due = async (): Promise<void> => {
      await this.#thawed;
      if (!disposed) {
        callback();
      }
    };
    const timer = this.#clock.setTimeout(() => void due(), delayMs);
    return {
      [Symbol.dispose]: () => {
        disposed = true;
        timer[Symbol.dispose]();
      },
    };
  }

  freeze(): void {
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.#thaw?.();
  }
}

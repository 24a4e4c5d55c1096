import { systemClock } from '../../../daemon/base/clock.ts';
import type { Clock } from '../../../daemon/base/clock.ts';

/** The system's clock in a process that can be stopped (SIGSTOP): its timers come when it goes on. */
export class FreezableClock implements Clock {
  #thawed = Promise.resolve();
  #thaw: (() => void) | undefined;

  nowNano(): bigint {
    return systemClock.nowNano();
  }

  monotonicMs(): number {
    return systemClock.monotonicMs();
  }

  setTimeout(callback: () => void, delayMs: number): Disposable {
    let disposed = false;
    const due = async (): Promise<void> => {
      await this.#thawed;
      if (!disposed) {
        callback();
      }
    };
    const timer = systemClock.setTimeout(() => void due(), delayMs);
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

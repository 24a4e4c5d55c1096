import type { Clock } from '../../../daemon/base/clock.ts';

/** A clock that moves only when told to. Starts at 2026-01-01 UTC, or where it is told. */
export class ManualClock implements Clock {
  #nano: bigint;
  #ms = 0;
  #timers: { atMs: number; callback: () => void }[] = [];

  constructor(nano = 1_767_225_600_000_000_000n) {
    this.#nano = nano;
  }

  nowNano(): bigint {
    this.#nano += 1n;
    return this.#nano;
  }

  monotonicMs(): number {
    return this.#ms;
  }

  setTimeout(callback: () => void, delayMs: number): Disposable {
    const timer = { atMs: this.#ms + delayMs, callback };
    this.#timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Lets time pass and runs what is due, in order; then lets promises settle. */
  async advance(ms: number): Promise<void> {
    const end = this.#ms + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ atMs }) => atMs <= end).toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined) {
        break;
      }
      this.#move(next.atMs);
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.callback();
      await settled();
    }
    this.#move(end);
    await settled();
  }

  /** Sets the wall clock, as an administrator does; the monotonic clock goes on. */
  setWall(byMs: number): void {
    this.#nano += BigInt(byMs) * 1_000_000n;
  }

  /** Delays of the timers that are armed. */
  get pendingMs(): number[] {
    return this.#timers.map(({ atMs }) => atMs - this.#ms);
  }

  #move(toMs: number): void {
    this.#nano += BigInt(Math.round((toMs - this.#ms) * 1e6));
    this.#ms = toMs;
  }
}

/** Lets everything go on that waits only for promises and immediates. Await the effect of what waits for files. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

import type { Clock } from '../../daemon/base/clock.ts';
import { limits } from '../../daemon/base/limits.ts';

/** When the next pass is due: shortly after some changes, so that these are decided on together, or at a set time. */
export class Due implements Disposable {
  readonly #clock: Clock;
  /** The first of the changes that wait, and whether it came after a quiet time. */
  #firstMs: number | undefined;
  #isAfterQuiet = true;
  #lastMs = Number.NEGATIVE_INFINITY;
  #changesMs = Number.POSITIVE_INFINITY;
  #alarmMs = Number.POSITIVE_INFINITY;
  #timer: { atMs: number; handle: Disposable } | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Something has changed. */
  request(): void {
    const now = this.#clock.monotonicMs();
    if (this.#firstMs === undefined) {
      this.#firstMs = now;
      this.#isAfterQuiet = now - this.#lastMs > limits.swarmDecisionDelayMs;
    }
    this.#changesMs = this.#isAfterQuiet
      ? this.#firstMs + limits.swarmDecisionFirstMs
      : Math.min(now + limits.swarmDecisionDelayMs, this.#firstMs + limits.swarmDecisionDelayMaxMs);
    this.#arm();
  }

  /** After so long at the latest, also when nothing changes. */
  within(delayMs: number): void {
    this.#alarmMs = Math.min(this.#alarmMs, this.#clock.monotonicMs() + Math.max(0, delayMs));
    this.#arm();
  }

  /** Resolves when it is time, or at disposal. What comes after that counts for the next time. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#lastMs = this.#clock.monotonicMs();
      this.#arm();
    });
  }

  [Symbol.dispose](): void {
    this.#timer?.handle[Symbol.dispose]();
    this.#wake?.();
    this.#wake = undefined;
  }

  /** A timer that comes too early looks again: changes that follow each other do not move it each time. */
  #arm(): void {
    const atMs = Math.min(this.#changesMs, this.#alarmMs);
    if (
      this.#wake === undefined ||
      atMs === Number.POSITIVE_INFINITY ||
      (this.#timer?.atMs ?? atMs + 1) <= atMs
    ) {
      return;
    }
    this.#timer?.handle[Symbol.dispose]();
    const handle = this.#clock.setTimeout(() => this.#ring(), atMs - this.#clock.monotonicMs());
    this.#timer = { atMs, handle };
  }

  #ring(): void {
    this.#timer = undefined;
    const wake = this.#wake;
    // Timers of Node.js may come a moment early.
    const isDue = Math.min(this.#changesMs, this.#alarmMs) <= this.#clock.monotonicMs() + 1;
    if (!isDue || wake === undefined) {
      this.#arm();
      return;
    }
    this.#firstMs = undefined;
    this.#changesMs = Number.POSITIVE_INFINITY;
    this.#alarmMs = Number.POSITIVE_INFINITY;
    this.#wake = undefined;
    wake();
  }
}

import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';

/** When what has failed is tried again, for each by itself: after pauses that double. */
export class Retries implements Disposable {
  readonly #clock: Clock;
  readonly #retry: (id: string) => void;
  readonly #failed = new Map<string, { times: number; timer: Disposable }>();
  #isOver = false;

  constructor(clock: Clock, retry: (id: string) => void) {
    this.#clock = clock;
    this.#retry = retry;
  }

  /** It has failed, maybe not for the first time. */
  failed(id: string): void {
    const before = this.#failed.get(id);
    before?.timer[Symbol.dispose]();
    if (this.#isOver) {
      return;
    }
    const times = before?.times ?? 0;
    const delayMs = Math.min(limits.overlayRetryMs * 2 ** times, limits.overlayRetryMaxMs);
    this.#failed.set(id, { times: times + 1, timer: this.#clock.setTimeout(() => this.#retry(id), delayMs) });
  }

  /** It has been done, or is no longer wanted. */
  settled(id: string): void {
    this.#failed.get(id)?.timer[Symbol.dispose]();
    this.#failed.delete(id);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    [...this.#failed.keys()].forEach((id) => this.settled(id));
  }
}

import type { Clock } from '../../daemon/base/clock.ts';
import type { EventQueue } from './event-queue.ts';

/** A host's clock: its timers are the queue's, what it takes for the time of day is off by so much. */
export class VirtualClock implements Clock {
  readonly #queue: EventQueue;
  readonly #skewMs: number;
  #last = 0n;

  constructor(queue: EventQueue, skewMs: number) {
    this.#queue = queue;
    this.#skewMs = skewMs;
  }

  /** Milliseconds since 1970 UTC. */
  get now(): number {
    return this.#queue.now + this.#skewMs;
  }

  nowNano(): bigint {
    const nano = BigInt(this.now) * 1_000_000n;
    this.#last = nano > this.#last ? nano : this.#last + 1n;
    return this.#last;
  }

  monotonicMs(): number {
    return this.#queue.now;
  }

  setTimeout(callback: () => void, delayMs: number): Disposable {
    let isDue = true;
    this.#queue.after(delayMs, () => {
      if (isDue) {
        callback();
      }
    });
    return { [Symbol.dispose]: () => (isDue = false) };
  }
}

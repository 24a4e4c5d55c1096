import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import { isRetryable } from './failure.ts';

/** Called before each pause, with its length. */
export type OnRetry = (delayMs: number) => void;

/** Counts failures of one operation and says how long to wait after each. */
export class Attempts {
  readonly #signal: AbortSignal;
  readonly #onRetry: OnRetry | undefined;
  #failures = 0;

  constructor(signal: AbortSignal, onRetry?: OnRetry) {
    this.#signal = signal;
    this.#onRetry = onRetry;
  }

  /** It got somewhere: earlier failures no longer count. */
  progressed(): void {
    this.#failures = 0;
  }

  /** Waits before the next attempt; throws `error` when there is to be none, `canceled` when the signal is aborted. */
  async after(error: unknown): Promise<void> {
    if (this.#signal.aborted) {
      throw new EngineError('canceled', 'canceled');
    }
    const delay = limits.registryRetryDelaysMs[this.#failures];
    if (!isRetryable(error) || delay === undefined) {
      throw error;
    }
    this.#failures += 1;
    const asked = error.details['retryAfterMs'];
    const delayMs = Math.max(typeof asked === 'number' ? asked : 0, delay);
    this.#onRetry?.(delayMs);
    try {
      await sleep(delayMs, undefined, { signal: this.#signal });
    } catch {
      // The only failure of a sleep.
      throw new EngineError('canceled', 'canceled');
    }
  }
}

/** Does `step` until it succeeds, with growing pauses, for as long as another attempt may help. */
export async function withRetries<T>(
  signal: AbortSignal,
  step: () => Promise<T>,
  onRetry?: OnRetry,
): Promise<T> {
  const attempts = new Attempts(signal, onRetry);
  for (;;) {
    try {
      return await step();
    } catch (error) {
      await attempts.after(error);
    }
  }
}

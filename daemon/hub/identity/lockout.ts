import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';

interface Failures {
  /** Of the newest ones. */
  atMs: number[];
  lockedUntilMs: number;
}

/**
 * Counts wrong credentials of one name or address, in memory: after `limits.hubBadCredentialsMax` of them all of its
 * credentials are refused for a while, right ones too (seed 001, section 5 rule 7). Guessing goes on no faster than
 * that; a restart of the daemon forgives.
 */
export class Lockout {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isLocked(key: string): boolean {
    return (this.#failures.get(key)?.lockedUntilMs ?? 0) > this.#clock.monotonicMs();
  }

  failed(key: string): void {
    const nowMs = this.#clock.monotonicMs();
    const known = this.#failures.get(key) ?? { atMs: [], lockedUntilMs: 0 };
    const atMs = [...known.atMs.filter((at) => nowMs - at < limits.hubBadCredentialsWithinMs), nowMs];
    const isTooMany = atMs.length >= limits.hubBadCredentialsMax;
    // To its end: the oldest stand in front.
    this.#failures.delete(key);
    this.#failures.set(key, {
      atMs: isTooMany ? [] : atMs,
      lockedUntilMs: isTooMany ? nowMs + limits.hubLockoutMs : known.lockedUntilMs,
    });
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > limits.hubLockoutsRemembered && oldest !== undefined) {
      this.#failures.delete(oldest);
    }
  }

  succeeded(key: string): void {
    this.#failures.delete(key);
  }
}

import type { Clock } from '../../../daemon/base/clock.ts';
import { EngineError } from '../../../daemon/base/errors.ts';

/** Wrong tokens of one address within a minute before it has to wait: a user mistypes, a program guesses. */
const WRONG_MAX = 10;
const WINDOW_MS = 60_000;
const ADDRESSES_MAX = 10_000;

/** Slows down those that guess tokens. */
export class TokenGuard {
  readonly #clock: Clock;
  readonly #wrong = new Map<string, { count: number; sinceMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws resource_exhausted for an address that has sent too many wrong ones. */
  check(address: string): void {
    const found = this.#wrong.get(address);
    if (found !== undefined && this.#isOld(found.sinceMs)) {
      this.#wrong.delete(address);
    } else if (found !== undefined && found.count >= WRONG_MAX) {
      throw new EngineError('resource_exhausted', 'too many wrong join tokens: try again in a minute');
    }
  }

  note(address: string): void {
    const { count = 0, sinceMs = this.#clock.monotonicMs() } = this.#wrong.get(address) ?? {};
    this.#wrong.delete(address);
    this.#wrong.set(address, { count: count + 1, sinceMs });
    const [oldest] = this.#wrong.keys();
    if (this.#wrong.size > ADDRESSES_MAX && oldest !== undefined) {
      this.#wrong.delete(oldest);
    }
  }

  #isOld(sinceMs: number): boolean {
    return this.#clock.monotonicMs() - sinceMs > WINDOW_MS;
  }
}

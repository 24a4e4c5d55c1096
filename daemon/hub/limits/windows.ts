/** How much of a limit is used in the window that runs. */
export interface WindowState {
  used: number;
  /** When the window ends and nothing is used again, in milliseconds since 1970. */
  resetMs: number;
}

/**
 * Counts by key in windows of fixed length: a window begins with its first use, as GitHub's do. At most `keysMax` keys
 * are known; past that those whose windows end first are forgotten.
 */
export class Windows {
  readonly #lengthMs: number;
  readonly #keysMax: number;
  readonly #states = new Map<string, WindowState>();

  constructor(options: { lengthMs: number; keysMax: number }) {
    this.#lengthMs = options.lengthMs;
    this.#keysMax = options.keysMax;
  }

  /** As it is now; a key that is not known has used nothing of a window that would begin now. */
  state(key: string, nowMs: number): WindowState {
    return this.known(key, nowMs) ?? { used: 0, resetMs: nowMs + this.#lengthMs };
  }

  /** Undefined = it has used nothing. */
  known(key: string, nowMs: number): WindowState | undefined {
    const known = this.#states.get(key);
    return known === undefined || known.resetMs <= nowMs ? undefined : known;
  }

  /** Uses some of it, or gives some back where `amount` is negative. `endMs`: when a window ends that begins now. */
  use(key: string, amount: number, nowMs: number, endMs = nowMs + this.#lengthMs): WindowState {
    const { used, resetMs } = this.known(key, nowMs) ?? { used: 0, resetMs: endMs };
    const state = { used: Math.max(0, used + amount), resetMs };
    if (this.#states.get(key)?.resetMs !== resetMs) {
      // To its end: windows of one length end in the order in which they began.
      this.#states.delete(key);
      this.#forget(nowMs);
    }
    this.#states.set(key, state);
    return state;
  }

  /** Takes over what was counted before a restart. */
  restore(key: string, state: WindowState, nowMs: number): void {
    if (state.resetMs > nowMs && state.resetMs <= nowMs + this.#lengthMs) {
      this.#states.set(key, state);
    }
  }

  #forget(nowMs: number): void {
    for (const [key, { resetMs }] of this.#states) {
      if (resetMs > nowMs && this.#states.size < this.#keysMax) {
        break;
      }
      this.#states.delete(key);
    }
  }
}

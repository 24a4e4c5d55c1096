/** What one object may tell at once, and how soon it may tell more. */
interface Bucket {
  left: number;
  filledMs: number;
}

export interface BucketRules {
  burst: number;
  everyMs: number;
  /** Objects that are remembered, those that told last. */
  remembered: number;
}

/** Lets each object through so often and no more. */
export class Buckets {
  readonly #rules: BucketRules;
  /** The least recent first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(rules: BucketRules) {
    this.#rules = rules;
  }

  /** Whether it may; then it has. `nowMs`: of a clock that does not go back. */
  take(key: string, nowMs: number): boolean {
    const { burst, everyMs, remembered } = this.#rules;
    const known = this.#buckets.get(key) ?? { left: burst, filledMs: nowMs };
    const more = Math.floor((nowMs - known.filledMs) / everyMs);
    const left = Math.min(burst, known.left + more);
    const filledMs = more > 0 ? nowMs : known.filledMs;
    keep(this.#buckets, key, { left: Math.max(0, left - 1), filledMs }, remembered);
    return left > 0;
  }
}

/** Puts an entry last, and forgets the first of too many. */
export function keep<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > max) {
    const [first] = map.keys();
    map.delete(first ?? '');
  }
}

/** Random numbers that come again with the same seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    const part = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    return low + Math.floor(part * (high - low + 1));
  }

  shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, at: this.between(0, 2 ** 30) }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }
}

export interface StormOptions {
  rounds: number;
  seed: number;
  /** Progress, a line at a time. */
  say: (line: string) => void;
}

/** What a storm did, in words, and what it found wrong. */
export interface StormReport {
  summary: string;
  problems: string[];
}

import type { Random } from '../objects/random.ts';
import type { ManagerAddress } from '../protocol/session.ts';

/** Weights stay in these bounds, so that no manager is given up for ever and none is all that is asked. */
const WEIGHT_MAX = 128;
const WEIGHT_FIRST = 16;
const WEIGHT_MIN = 1;

/** Which manager is asked: by chance, one that answered lately far more often than one that did not. */
export class ManagerWeights {
  readonly #random: Random;
  readonly #weights = new Map<string, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  answered(addr: string): void {
    this.#weights.set(addr, WEIGHT_MAX);
  }

  failed(addr: string): void {
    this.#weights.set(addr, Math.max((this.#weights.get(addr) ?? WEIGHT_FIRST) / 4, WEIGHT_MIN));
  }

  /**
   * Undefined where no manager is known. What is known of others is forgotten.
   *
   * @param silent One that did not answer just now: picked where there is no other.
   */
  pick(managers: readonly ManagerAddress[], silent?: string): string | undefined {
    const known = [...new Set(managers.map(({ addr }) => addr))];
    for (const addr of this.#weights.keys()) {
      if (!known.includes(addr)) {
        this.#weights.delete(addr);
      }
    }
    const others = known.filter((addr) => addr !== silent);
    const addresses = others.length > 0 ? others : known;
    const weights = addresses.map((addr) => this.#weights.get(addr) ?? WEIGHT_FIRST);
    let left = this.#share() * weights.reduce((sum, weight) => sum + weight, 0);
    return addresses.find((_addr, at) => (left -= weights[at] ?? 0) < 0) ?? addresses.at(-1);
  }

  /** From 0 to below 1. */
  #share(): number {
    const [high = 0, middle = 0, low = 0] = this.#random.bytes(3);
    return (high * 65_536 + middle * 256 + low) / 16_777_216;
  }
}

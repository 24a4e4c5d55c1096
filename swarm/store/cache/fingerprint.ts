/** What of an entry tells one state from another. */
interface Versioned {
  key: string;
  revision: number;
}

const SEEDS = [0x811c9dc5, 0x9747b28c] as const;
const PRIME = 0x01000193;

/**
 * How many entries there are, and two sums over hashes (FNV-1a) of key and revision: two states with the same
 * fingerprint are the same but for one chance in 2^64. The order of entries does not matter.
 */
export class Fingerprint {
  #count = 0;
  #one = 0;
  #two = 0;

  add(entries: Iterable<Versioned>): this {
    for (const { key, revision } of entries) {
      this.#count += 1;
      this.#one = (this.#one + hash(SEEDS[0], key, revision)) >>> 0;
      this.#two = (this.#two + hash(SEEDS[1], key, revision)) >>> 0;
    }
    return this;
  }

  toString(): string {
    return `${this.#count} ${this.#one.toString(16)} ${this.#two.toString(16)}`;
  }
}

function hash(seed: number, key: string, revision: number): number {
  let value = seed;
  for (let index = 0; index < key.length; index += 1) {
    value = Math.imul(value ^ key.charCodeAt(index), PRIME);
  }
  value = Math.imul(value ^ (revision % 0x1_0000_0000), PRIME);
  value = Math.imul(value ^ Math.floor(revision / 0x1_0000_0000), PRIME);
  // Sums of hashes that differ in few bits must differ too: mixed once more.
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}

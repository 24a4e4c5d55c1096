/** What other hosts have told of a key, at most so many keys; past that the first ones told are forgotten. */
export class OtherHosts<T> {
  readonly #keysMax: number;
  readonly #states = new Map<string, Map<string, T>>();

  constructor(keysMax: number) {
    this.#keysMax = keysMax;
  }

  of(key: string): T[] {
    const found = this.#states.get(key);
    return found === undefined ? [] : [...found.values()];
  }

  /** Undefined = nothing any more. */
  tell(host: string, key: string, state: T | undefined): void {
    const hosts = this.#states.get(key) ?? new Map<string, T>();
    if (state === undefined) {
      hosts.delete(host);
    } else {
      hosts.set(host, state);
    }
    if (hosts.size === 0) {
      this.#states.delete(key);
      return;
    }
    this.#states.set(key, hosts);
    const [first] = this.#states.keys();
    if (this.#states.size > this.#keysMax && first !== undefined) {
      this.#states.delete(first);
    }
  }
}

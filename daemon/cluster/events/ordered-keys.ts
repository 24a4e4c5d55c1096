/**
 * Keys in order, of which many are added between two looks: those that are new are sorted by themselves and merged in
 * when somebody looks, those that are gone are left out then.
 */
export class OrderedKeys {
  #sorted: string[] = [];
  #added: string[] = [];
  #gone = new Set<string>();

  /** A key that is not there. */
  add(key: string): void {
    // One that went and came again before anybody looked stands where it was.
    if (!this.#gone.delete(key)) {
      this.#added.push(key);
    }
  }

  remove(key: string): void {
    this.#gone.add(key);
  }

  clear(): void {
    this.#sorted = [];
    this.#added = [];
    this.#gone.clear();
  }

  /** Valid until the next change. */
  all(): readonly string[] {
    if (this.#added.length > 0 || this.#gone.size > 0) {
      const gone = this.#gone;
      this.#sorted = merged(this.#sorted, this.#added.toSorted(byBytes), gone);
      this.#added = [];
      gone.clear();
    }
    return this.#sorted;
  }

  /** Index in `all` of the first key behind `key`. */
  firstAfter(key: string): number {
    const keys = this.all();
    let [low, high] = [0, keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((keys[middle] ?? '') <= key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
}

function merged(left: readonly string[], right: readonly string[], gone: ReadonlySet<string>): string[] {
  const all: string[] = [];
  for (let [l, r] = [0, 0]; l < left.length || r < right.length;) {
    const [a, b] = [left[l], right[r]];
    const isLeft = b === undefined || (a !== undefined && a < b);
    const key = isLeft ? a : b;
    if (isLeft) {
      l += 1;
    } else {
      r += 1;
    }
    if (key !== undefined && !gone.has(key)) {
      all.push(key);
    }
  }
  return all;
}

/** Keys are ASCII. */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

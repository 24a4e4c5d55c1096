/** A binary heap: `push` and `pop` take O(log n), the least by `isLess` comes out first. */
export class Heap<T> {
  readonly #isLess: (a: T, b: T) => boolean;
  readonly #items: T[] = [];

  constructor(isLess: (a: T, b: T) => boolean) {
    this.#isLess = isLess;
  }

  /** The least, left where it is. */
  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let place = items.push(item) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = items[parent];
      if (above === undefined || !this.#isLess(item, above)) {
        break;
      }
      items[place] = above;
      place = parent;
    }
    items[place] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const least = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) {
      this.#sink(last);
    }
    return least;
  }

  /** Puts an item at the top and moves it down to its place. */
  #sink(item: T): void {
    const items = this.#items;
    let place = 0;
    for (;;) {
      const left = items[2 * place + 1];
      const right = items[2 * place + 2];
      if (left === undefined) {
        break;
      }
      const takesRight = right !== undefined && this.#isLess(right, left);
      const child = takesRight ? right : left;
      if (!this.#isLess(child, item)) {
        break;
      }
      items[place] = child;
      place = 2 * place + (takesRight ? 2 : 1);
    }
    items[place] = item;
  }
}

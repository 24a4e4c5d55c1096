import { Heap } from './scheduler/heap.ts';

interface Moment {
  at: number;
  key: string;
}

/** When which decision wants to be asked again. Of several moments for one key the earliest is kept. */
export class Moments {
  readonly #heap = new Heap<Moment>((a, b) => a.at < b.at);
  readonly #earliest = new Map<string, number>();

  add(key: string, at: number): void {
    const known = this.#earliest.get(key);
    if (known === undefined || at < known) {
      this.#earliest.set(key, at);
      this.#heap.push({ at, key });
    }
  }

  /** The next moment of all. */
  get next(): number | undefined {
    this.#dropStale();
    return this.#heap.peek()?.at;
  }

  /** Keys whose moment has come. */
  takeDue(now: number): string[] {
    const due: string[] = [];
    for (let at = this.next; at !== undefined && at <= now; at = this.next) {
      const { key } = this.#heap.pop() ?? { key: '' };
      this.#earliest.delete(key);
      due.push(key);
    }
    return due;
  }

  #dropStale(): void {
    let top = this.#heap.peek();
    while (top !== undefined && this.#earliest.get(top.key) !== top.at) {
      this.#heap.pop();
      top = this.#heap.peek();
    }
  }
}

import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import { InvariantError } from '../../errors.ts';

/** Children that threads may wait for at a time; a thread has few, and there are few threads. */
const SLOTS = 4096;
const SHARED = 'berth.child-claims';

/**
 * Children of this process that some thread waits for: all threads have the same children, and a thread that takes the
 * exit of another's child leaves the other waiting for ever. The first thread makes the table; those it starts get it
 * with their environment.
 */
export class ChildClaims {
  /** Word 0: how many starts are under way. The others: a pid, or 0. */
  readonly #words: Int32Array;

  constructor() {
    const known = getEnvironmentData(SHARED);
    const memory =
      known instanceof SharedArrayBuffer
        ? known
        : new SharedArrayBuffer((1 + SLOTS) * Int32Array.BYTES_PER_ELEMENT);
    setEnvironmentData(SHARED, memory);
    this.#words = new Int32Array(memory);
  }

  /** From now until disposed, children may come that are not claimed yet. */
  expect(): Disposable {
    Atomics.add(this.#words, 0, 1);
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        Atomics.sub(this.#words, 0, isOver ? 0 : 1);
        isOver = true;
      },
    };
  }

  isExpecting(): boolean {
    return Atomics.load(this.#words, 0) > 0;
  }

  claim(pid: number): Disposable {
    const slot = this.#take(pid);
    return {
      [Symbol.dispose]: () => {
        Atomics.compareExchange(this.#words, slot, pid, 0);
      },
    };
  }

  has(pid: number): boolean {
    return this.#words.includes(pid, 1);
  }

  #take(pid: number): number {
    for (let offset = 0; offset < SLOTS; offset += 1) {
      const slot = 1 + ((pid + offset) % SLOTS);
      if (Atomics.compareExchange(this.#words, slot, 0, pid) === 0) {
        return slot;
      }
    }
    throw new InvariantError(`more than ${SLOTS} children are waited for`);
  }
}

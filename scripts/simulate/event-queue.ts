import { Heap } from '../../swarm/planner/scheduler/heap.ts';

interface Event {
  at: number;
  order: number;
  run: () => void;
}

/** Virtual time: events in the order of their moments, and of their making where these are the same. */
export class EventQueue {
  /** Milliseconds since 1970 UTC. Far enough from 0 for clocks that are behind. */
  now = 1_000_000_000;
  events = 0;
  readonly #heap = new Heap<Event>((a, b) => a.at < b.at || (a.at === b.at && a.order < b.order));
  #made = 0;

  after(delayMs: number, run: () => void): void {
    this.#made += 1;
    this.#heap.push({ at: this.now + Math.max(0, Math.round(delayMs)), order: this.#made, run });
  }

  /** Runs what is due until `end`. Whatever waits for promises alone goes on before time does. */
  async runUntil(end: number): Promise<void> {
    await settled();
    for (let next = this.#heap.peek(); next !== undefined && next.at <= end; next = this.#heap.peek()) {
      const { at } = next;
      this.now = at;
      for (; next !== undefined && next.at === at; next = this.#heap.peek()) {
        this.#heap.pop();
        this.events += 1;
        next.run();
      }
      await settled();
    }
    this.now = end;
  }
}

/** Promises that wait for nothing else are settled before the next turn of the event loop. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

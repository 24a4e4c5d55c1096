/**
 * For how long this process worked for one request: the parts that run without waiting, added up by the clock.
 *
 * `process.cpuUsage` counts all requests and the engine beside them, and to follow each promise by async hooks would
 * slow the engine down for the hub's sake. The hub answers from memory: nearly all of its work is in these parts. What
 * a handler does after it has waited is not counted.
 */
export class WorkTime {
  #ms = 0;

  get ms(): number {
    return this.#ms;
  }

  /** Counts until `work` returns, or answers a promise. */
  run<T>(work: () => T): T {
    const start = performance.now();
    try {
      return work();
    } finally {
      this.#ms += performance.now() - start;
    }
  }
}

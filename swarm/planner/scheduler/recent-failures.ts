import { limits } from '../../../daemon/base/limits.ts';

/** How far back failures are looked at, and how many of them make a node the last choice. */
const WINDOW_MS = 5 * 60_000;
const FAILURES_THAT_COUNT = 5;

/**
 * Which nodes a service has just failed on, so that its tasks go elsewhere first. By revision of what it runs: a new
 * one gets a new chance everywhere. Times are milliseconds by the managers' clocks.
 */
export class RecentFailures {
  /** By `SERVICE/REVISION`, then by node: times, the oldest first. */
  readonly #times = new Map<string, Map<string, number[]>>();
  #sweptAt = 0;

  record(template: string, node: string, at: number): void {
    this.#sweep(at);
    const byNode = this.#times.get(template) ?? new Map<string, number[]>();
    this.#times.set(template, byNode);
    const times = byNode.get(node) ?? [];
    byNode.set(node, times);
    times.push(at);
    times.sort((a, b) => a - b);
    times.splice(0, times.length - limits.swarmNodeFailuresRemembered);
  }

  /** Nodes to choose last, with their number of failures: the fewer, the rather. */
  penalties(template: string, now: number): Map<string, number> {
    const penalties = new Map<string, number>();
    for (const [node, times] of this.#times.get(template) ?? []) {
      const count = times.filter((at) => now - at <= WINDOW_MS).length;
      if (count >= FAILURES_THAT_COUNT) {
        penalties.set(node, count);
      }
    }
    return penalties;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < WINDOW_MS) {
      return;
    }
    this.#sweptAt = now;
    for (const [template, byNode] of this.#times) {
      for (const [node, times] of byNode) {
        if (times.every((at) => now - at > WINDOW_MS)) {
          byNode.delete(node);
        }
      }
      if (byNode.size === 0) {
        this.#times.delete(template);
      }
    }
  }
}

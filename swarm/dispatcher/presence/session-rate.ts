import { limits } from '../../../daemon/base/limits.ts';

/** How often a node may begin a session. */
export class SessionRate {
  readonly #begun = new Map<string, number[]>();

  /** Whether a node may begin one now; where it may, it counts. */
  admit(node: string, nowMs: number): boolean {
    const recent = (this.#begun.get(node) ?? []).filter((ms) => nowMs - ms < limits.swarmSessionsWithinMs);
    const isAdmitted = recent.length < limits.swarmSessionsMax;
    this.#begun.set(node, isAdmitted ? [...recent, nowMs] : recent);
    return isAdmitted;
  }

  forget(node: string): void {
    this.#begun.delete(node);
  }
}

import { limits } from '../../daemon/base/limits.ts';

/**
 * The manager that a node lost its session with, or that did not answer: the others may name it as the leader until
 * they have elected another one, and a host that is gone costs seconds each time it is dialled.
 */
export class Suspicion {
  /** Undefined while nobody is suspected. */
  addr: string | undefined;
  #tries = 0;
  #triedMs = Number.NEGATIVE_INFINITY;

  /** Its session was lost. */
  lost(addr: string): void {
    this.addr = addr;
    this.#tries = 0;
    this.#triedMs = Number.NEGATIVE_INFINITY;
  }

  /** It was dialled, and did not answer. */
  silent(addr: string, nowMs: number): void {
    this.#tries = addr === this.addr ? this.#tries + 1 : 1;
    this.addr = addr;
    this.#triedMs = nowMs;
  }

  answered(addr: string): void {
    this.addr = addr === this.addr ? undefined : this.addr;
  }

  /** Whether it is too early to try it again because others name it. */
  isTooEarly(addr: string, nowMs: number): boolean {
    return addr === this.addr && nowMs - this.#triedMs < limits.swarmSessionSuspectAgainMs;
  }

  /** Milliseconds that its answer is waited for; undefined: as long as anyone's. */
  patienceMs(addr: string): number | undefined {
    const isShort = addr === this.addr && this.#tries < limits.swarmSessionSuspectTries;
    return isShort ? limits.swarmSessionSuspectMs : undefined;
  }
}

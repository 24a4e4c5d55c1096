import type { Clock } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import type { StatusLog } from '../status-log.ts';

/**
 * What builds have reported that have just ended. Clients ask for it beside the build, and one that is all from the
 * cache may be over before they are heard; they give up three seconds after the build's own answer.
 */
export class EndedBuilds {
  readonly #clock: Clock;
  readonly #logs = new Map<string, { log: StatusLog; timer: Disposable }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Kept for `limits.buildEndedKeptMs`; the oldest goes where there are more than `limits.buildsEndedMax`. */
  keep(ref: string, log: StatusLog): void {
    this.forget(ref);
    const timer = this.#clock.setTimeout(() => this.#logs.delete(ref), limits.buildEndedKeptMs);
    this.#logs.set(ref, { log, timer });
    for (const oldest of this.#logs.keys()) {
      if (this.#logs.size <= limits.buildsEndedMax) {
        break;
      }
      this.forget(oldest);
    }
  }

  find(ref: string): StatusLog | undefined {
    return this.#logs.get(ref)?.log;
  }

  /** Another build has the name now. */
  forget(ref: string): void {
    this.#logs.get(ref)?.timer[Symbol.dispose]();
    this.#logs.delete(ref);
  }
}

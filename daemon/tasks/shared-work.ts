import type { Clock } from '../base/clock.ts';
import { EngineError } from '../base/errors.ts';

interface Work<S> {
  state: S;
  /** Never rejects: what went wrong. */
  done: Promise<unknown>;
  /** How many tasks wait for it. */
  waiting: number;
  abort: AbortController;
  endedMs?: number;
}

/** A task's part in work; disposed of when the task waits no more. */
export interface Joined<S> extends Disposable {
  /** What the work tells of itself. */
  readonly state: S;
  /**
   * What went wrong; undefined where nothing did. Answers a `canceled` error when the signal fires first. The work goes
   * on for those that still wait.
   */
  outcome(signal: AbortSignal): Promise<unknown>;
}

/** Work that several tasks want at the same time, by a key: it is done once, and ended when nobody waits for it. */
export class SharedWork<S> {
  readonly #clock: Clock;
  readonly #freshMs: number;
  readonly #running = new Map<string, Work<S>>();

  /** Work that has ended is not done again for `freshMs`. */
  constructor(clock: Clock, freshMs: number) {
    this.#clock = clock;
    this.#freshMs = freshMs;
  }

  /** `begin` does not reject, it answers what went wrong. */
  join(key: string, state: S, begin: (state: S, signal: AbortSignal) => Promise<unknown>): Joined<S> {
    const work = this.#current(key) ?? this.#begin(key, state, begin);
    work.waiting += 1;
    let isHeld = true;
    return {
      state: work.state,
      outcome: (signal) => outcomeOf(work, signal),
      [Symbol.dispose]: () => {
        work.waiting -= isHeld ? 1 : 0;
        isHeld = false;
        if (work.waiting === 0 && work.endedMs === undefined) {
          work.abort.abort();
        }
      },
    };
  }

  /** Work that goes on, or has just ended. */
  #current(key: string): Work<S> | undefined {
    const work = this.#running.get(key);
    const ageMs = this.#clock.monotonicMs() - (work?.endedMs ?? Number.POSITIVE_INFINITY);
    return work?.abort.signal.aborted === true || ageMs > this.#freshMs ? undefined : work;
  }

  #begin(key: string, state: S, begin: (state: S, signal: AbortSignal) => Promise<unknown>): Work<S> {
    const abort = new AbortController();
    const work: Work<S> = { state, done: Promise.resolve(), waiting: 0, abort };
    work.done = begin(state, abort.signal).finally(() => {
      work.endedMs = this.#clock.monotonicMs();
      this.#clock.setTimeout(() => this.#forget(key, work), this.#freshMs);
    });
    this.#running.set(key, work);
    return work;
  }

  #forget(key: string, work: Work<S>): void {
    if (this.#running.get(key) === work) {
      this.#running.delete(key);
    }
  }
}

async function outcomeOf<S>(work: Work<S>, signal: AbortSignal): Promise<unknown> {
  let leave!: () => void;
  const left = new Promise<EngineError>((resolve) => {
    leave = () => resolve(new EngineError('canceled', 'canceled'));
  });
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) {
    leave();
  }
  try {
    return await Promise.race([work.done, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

import type { EventPort } from '../../api/types/ports.ts';
import type { Filters } from '../../api/types/requests.ts';
import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { TASK_ID_LABEL } from './labels.ts';

const FILTERS: Filters = new Map([
  ['type', ['container']],
  ['event', ['health_status', 'die', 'destroy']],
  ['label', [TASK_ID_LABEL]],
]);

interface Deps {
  events: EventPort;
  clock: Clock;
  logger: Logger;
}

/** Tells when the health of a task's container has changed or it has ended: one reader of events for all tasks. */
export class ContainerChanges implements Disposable {
  readonly #deps: Deps;
  /** By container: what is to be called, once. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #reading: AbortController | undefined;
  #isClosed = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Resolves at the next change after this call, or earlier: look again then. Never rejects. */
  next(container: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(container) ?? new Set();
      const done = (): void => {
        waiting.delete(done);
        if (waiting.size === 0 && this.#waiting.get(container) === waiting) {
          this.#waiting.delete(container);
        }
        signal.removeEventListener('abort', done);
        resolve();
      };
      waiting.add(done);
      this.#waiting.set(container, waiting);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted || this.#isClosed) {
        done();
      } else {
        this.#read();
      }
    });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#reading?.abort();
    this.#wakeAll();
  }

  #read(): void {
    if (this.#reading !== undefined) {
      return;
    }
    const reading = new AbortController();
    this.#reading = reading;
    // Listens from this call on.
    const stream = this.#deps.events.stream({ filters: FILTERS, signal: reading.signal });
    void this.#follow(stream).catch((error: unknown) => {
      this.#deps.logger.warn({ error: errorText(error) }, 'events of tasks were lost: all are looked at');
    });
  }

  async #follow(stream: ReturnType<EventPort['stream']>): Promise<void> {
    try {
      for await (const { Actor } of stream) {
        this.#waiting.get(Actor.ID)?.forEach((wake) => wake());
      }
    } finally {
      this.#reading = undefined;
      this.#deps.clock.setTimeout(() => this.#wakeAll(), limits.retryDelaysMs[0]);
    }
  }

  #wakeAll(): void {
    for (const waiting of this.#waiting.values()) {
      waiting.forEach((wake) => wake());
    }
  }
}

import type { HistoryEvent } from '../../../api/types/build/history.ts';
import { EngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';

/** Tells those who listen what becomes of builds, each from the moment on at which it began to. */
export class HistoryEvents {
  readonly #listeners = new Set<Listener>();

  /** Events of one build; `''` = of all. It listens until it is disposed of. */
  listen(ref: string): Listener {
    const listener = new Listener(ref, () => this.#listeners.delete(listener));
    this.#listeners.add(listener);
    return listener;
  }

  tell(event: HistoryEvent): void {
    const ref = event.type === 'deleted' ? event.ref : event.record.ref;
    for (const listener of this.#listeners) {
      if (listener.ref === '' || listener.ref === ref) {
        listener.push(event);
      }
    }
  }
}

class Listener implements Disposable {
  readonly ref: string;
  readonly #left: () => void;
  #events: HistoryEvent[] = [];
  #wake: () => void = () => undefined;

  constructor(ref: string, left: () => void) {
    this.ref = ref;
    this.#left = left;
  }

  push(event: HistoryEvent): void {
    if (this.#events.length <= limits.buildHistoryEventsMax) {
      this.#events.push(event);
      this.#wake();
    }
  }

  /** Ends when the signal fires. Throws resource_exhausted where its reader is too slow. */
  async *read(signal: AbortSignal): AsyncGenerator<HistoryEvent> {
    const wake = (): void => this.#wake();
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        const events = this.#events;
        this.#events = [];
        if (events.length > limits.buildHistoryEventsMax) {
          throw new EngineError('resource_exhausted', 'the client reads too slowly: it has missed builds');
        }
        if (events.length === 0) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        }
        yield* events;
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  [Symbol.dispose](): void {
    this.#left();
  }
}

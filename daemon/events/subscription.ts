import type { EventMessage } from '../../api/types/system.ts';
import { EngineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { EventFilter } from './filter.ts';

/**
 * One reader's queue of live events. The writer never waits for it: past its bound it is cut off, and its reader gets
 * an error instead of missing events silently.
 */
export class Subscription {
  readonly #matches: EventFilter;
  #queue: EventMessage[] = [];
  #head = 0;
  #wake: (() => void) | undefined;
  #state: 'waiting' | 'live' | 'ended' | 'overflowed' = 'waiting';

  constructor(matches: EventFilter) {
    this.#matches = matches;
  }

  /** From now on events are queued. */
  goLive(): void {
    if (this.#state === 'waiting') {
      this.#state = 'live';
    }
  }

  get isEnded(): boolean {
    return this.#state === 'ended' || this.#state === 'overflowed';
  }

  matches(event: EventMessage): boolean {
    return this.#matches(event);
  }

  push(event: EventMessage): void {
    if (this.#state !== 'live' || !this.#matches(event)) {
      return;
    }
    if (this.#queue.length - this.#head >= limits.eventSubscriberQueueMax) {
      this.#finish('overflowed');
      return;
    }
    this.#queue.push(event);
    this.#wake?.();
  }

  /** No more events after those queued. */
  end(): void {
    if (!this.isEnded) {
      this.#finish('ended');
    }
  }

  /** The next live event; undefined after the end. Throws resource_exhausted when the reader was too slow. */
  async next(): Promise<EventMessage | undefined> {
    for (;;) {
      const event = this.#shift();
      if (event !== undefined) {
        return event;
      }
      switch (this.#state) {
        case 'ended':
          return undefined;
        case 'overflowed':
          throw new EngineError(
            'resource_exhausted',
            `events: the client reads too slowly, more than ${limits.eventSubscriberQueueMax} events are waiting`,
          );
        case 'waiting':
        case 'live':
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#wake = undefined;
      }
    }
  }

  #shift(): EventMessage | undefined {
    const event = this.#queue[this.#head];
    if (event === undefined) {
      return undefined;
    }
    this.#head += 1;
    // Array.shift() of a long queue moves every element: drop the read ones now and then instead.
    if (this.#head === this.#queue.length || this.#head >= 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return event;
  }

  #finish(state: 'ended' | 'overflowed'): void {
    this.#state = state;
    if (state === 'overflowed') {
      this.#queue = [];
      this.#head = 0;
    }
    this.#wake?.();
  }
}

import { setImmediate } from 'node:timers/promises';
import type { EventMessage } from '../../api/types/system.ts';
import type { Database, StoredEventRow } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { invalidArgument, invariant } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { eventFilter } from './filter.ts';
import type { EventDraft, Journal } from './journal-types.ts';
import { toMessage } from './message.ts';
import type { TimedEvent } from './message.ts';
import { Subscription } from './subscription.ts';

export interface EventLogDeps {
  database: Pick<Database, 'transaction' | 'events'>;
  clock: Clock;
  log: Logger;
}

export interface EventStreamOptions {
  /** UNIX nanoseconds. */
  since?: bigint;
  until?: bigint;
  filters: ReadonlyMap<string, readonly string[]>;
  signal: AbortSignal;
}

/** The longest delay a Node.js timer takes; beyond it fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Everything that happened, in the order it was committed. Events are stored in the transaction of the change they
 * tell of and published after it; a reader gets the stored ones and goes over to live ones without a gap or a double.
 */
export class EventLog implements Journal, Disposable {
  readonly #database: EventLogDeps['database'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #subscriptions = new Set<Subscription>();
  /** Events of the commit going on; undefined between commits. */
  #uncommitted: EventMessage[] | undefined;
  /** The first event prunes, so that a daemon restarted often prunes too. */
  #untilPrune = 1;
  #pruning: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(deps: EventLogDeps) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  /** Clients that listen, for `GET /info`. */
  get listeners(): number {
    return this.#subscriptions.size;
  }

  /** See `Journal`. A commit inside another joins it: its events go out when the outer one is through. */
  commit<T>(change: (emit: (event: EventDraft) => void) => T, options?: { durable?: boolean }): T {
    if (this.#uncommitted !== undefined) {
      return this.#join(this.#uncommitted, change, options);
    }
    const events: EventMessage[] = [];
    this.#uncommitted = events;
    let result: T;
    try {
      result = this.#database.transaction(() => change(this.#emitter(events)), options);
    } finally {
      this.#uncommitted = undefined;
    }
    this.#publish(events);
    this.#pruneLater(events.length);
    return result;
  }

  /** See `Journal`. */
  note(event: EventDraft): void {
    try {
      this.commit((emit) => emit(event));
    } catch (error) {
      this.#log.error({ event, err: error }, 'an event could not be stored');
      this.tell(event);
    }
  }

  /** See `Journal`. */
  tell(event: EventDraft): void {
    this.#publish([toMessage({ ...event, timeNano: this.#clock.nowNano() })]);
  }

  /**
   * See `EventPort`. Checks its arguments at once and listens from this call on, so that a client that has its headers
   * misses nothing. `since` and `until` are inclusive; without `since`, `until` means from the oldest event on (moby).
   */
  stream(options: EventStreamOptions): AsyncIterable<EventMessage> {
    const { since, until, signal } = options;
    if (since !== undefined && until !== undefined && since > until) {
      throw invalidArgument(
        `\`since\` time (${since / 1_000_000_000n}) cannot be after \`until\` time (${until / 1_000_000_000n})`,
      );
    }
    const subscription = new Subscription(eventFilter(options.filters));
    if (signal.aborted || this.#closed) {
      subscription.end();
    } else {
      this.#subscriptions.add(subscription);
      signal.addEventListener('abort', () => this.#drop(subscription), { once: true });
    }
    const replays = since !== undefined || until !== undefined;
    if (!replays) {
      subscription.goLive();
    }
    return this.#read(subscription, replays, options);
  }

  /** Ends every stream; events can still be committed. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const subscription of this.#subscriptions) {
      this.#drop(subscription);
    }
    if (this.#pruning !== undefined) {
      clearImmediate(this.#pruning);
    }
  }

  async *#read(
    subscription: Subscription,
    replays: boolean,
    options: EventStreamOptions,
  ): AsyncGenerator<EventMessage, void, void> {
    let deadline: Disposable | undefined;
    try {
      if (replays) {
        yield* this.#replay(subscription, options);
      }
      if (options.until !== undefined) {
        deadline = this.#endAt(subscription, options.until);
      }
      for (;;) {
        const event = await subscription.next();
        if (event === undefined || (options.until !== undefined && event.timeNano > options.until)) {
          return;
        }
        yield event;
      }
    } finally {
      deadline?.[Symbol.dispose]();
      this.#drop(subscription);
    }
  }

  /** Stored events, page by page; with the page that finds nothing more it goes live in the same instant. */
  async *#replay(
    subscription: Subscription,
    { since, until }: EventStreamOptions,
  ): AsyncGenerator<EventMessage, void, void> {
    const bounds = {
      ...(since === undefined ? {} : { sinceNano: since }),
      ...(until === undefined ? {} : { untilNano: until }),
      limit: limits.eventReplayPageRows,
    };
    let afterId: number | undefined;
    while (!subscription.isEnded) {
      const page = this.#database.events.range(afterId === undefined ? bounds : { ...bounds, afterId });
      if (page.length === 0) {
        subscription.goLive();
        return;
      }
      for (const row of page) {
        const event = toMessage(typed(row));
        afterId = row.id;
        if (subscription.matches(event)) {
          yield event;
          if (subscription.isEnded) {
            return;
          }
        }
      }
      await setImmediate();
    }
  }

  #endAt(subscription: Subscription, until: bigint): Disposable {
    let timer: Disposable | undefined;
    const arm = (): void => {
      const remainingNano = until - this.#clock.nowNano();
      if (remainingNano < 0n) {
        subscription.end();
      } else {
        // Rounded up: an event at `until` itself is still part of the answer.
        const delayMs = Number(remainingNano / 1_000_000n) + 1;
        timer = this.#clock.setTimeout(arm, Math.min(delayMs, TIMER_MS_MAX));
      }
    };
    arm();
    return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
  }

  #join<T>(
    events: EventMessage[],
    change: (emit: (event: EventDraft) => void) => T,
    options?: { durable?: boolean },
  ): T {
    const mark = events.length;
    try {
      return this.#database.transaction(() => change(this.#emitter(events)), options);
    } catch (error) {
      // The outer change may go on without this one: its events are not stored, so they are not told either.
      events.length = mark;
      throw error;
    }
  }

  #emitter(events: EventMessage[]): (event: EventDraft) => void {
    return (draft) => {
      invariant(this.#uncommitted === events, `event ${draft.type} ${draft.action} outside of its commit`);
      const event: TimedEvent = { ...draft, timeNano: this.#clock.nowNano() };
      this.#database.events.insert(event);
      events.push(toMessage(event));
    };
  }

  #publish(events: readonly EventMessage[]): void {
    for (const event of events) {
      for (const subscription of this.#subscriptions) {
        subscription.push(event);
      }
    }
  }

  #drop(subscription: Subscription): void {
    subscription.end();
    this.#subscriptions.delete(subscription);
  }

  #pruneLater(newEvents: number): void {
    this.#untilPrune -= newEvents;
    if (this.#untilPrune > 0 || this.#pruning !== undefined || newEvents === 0 || this.#closed) {
      return;
    }
    this.#untilPrune = limits.eventsPruneInterval;
    this.#pruning = globalThis.setImmediate(() => {
      this.#pruning = undefined;
      try {
        this.#database.events.prune(limits.eventsKeptMax);
      } catch (error) {
        this.#log.error({ err: error }, 'pruning old events failed');
      }
    });
  }
}

function typed(row: StoredEventRow): TimedEvent {
  // Only `commit` writes this column, and it takes an EventType.
  return { ...row, type: row.type as TimedEvent['type'] };
}

import { setImmediate } from 'node:timers/promises';
import type { EventStreamOptions } from '../../api/types/ports.ts';
import type { EventMessage } from '../../api/types/system.ts';
import type { Database, StoredEventRow } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { invalidArgument, invariant } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { eventFilter } from './filter.ts';
import { Backlog } from './backlog.ts';
import type { EventDraft, Journal, RowFact } from './journal-types.ts';
import { toMessage } from './message.ts';
import type { TimedEvent } from './message.ts';
import { Subscription } from './subscription.ts';

export interface EventLogDeps {
  database: Pick<Database, 'transaction' | 'events'>;
  clock: Clock;
  log: Logger;
}

/** The longest delay a Node.js timer takes; beyond it fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Everything that happened, in the order it was committed. Events are stored in the transaction of the change they
 * tell of and published after it; those that the disk refuses wait in the backlog. A reader gets the stored ones, those
 * that wait, and goes over to live ones without a gap or a double.
 */
export class EventLog implements Journal, Disposable {
  readonly #database: EventLogDeps['database'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #backlog: Backlog;
  readonly #subscriptions = new Set<Subscription>();
  /** Events of the commit going on; undefined between commits. */
  #uncommitted: TimedEvent[] | undefined;
  /** The first event prunes, so that a daemon restarted often prunes too. */
  #untilPrune = 1;
  #pruning: NodeJS.Immediate | undefined;
  #closed = false;
  #published = 0;

  constructor(deps: EventLogDeps) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#backlog = new Backlog(deps);
  }

  /** Clients that listen, for `GET /info`. */
  get listeners(): number {
    return this.#subscriptions.size;
  }

  /** Events since this daemon started, those that are not kept too. */
  get published(): number {
    return this.#published;
  }

  /** See `Journal`. A commit inside another joins it: its events go out when the outer one is through. */
  commit<T>(change: (emit: (event: EventDraft) => void) => T, options?: { durable?: boolean }): T {
    if (this.#uncommitted !== undefined) {
      return this.#join(this.#uncommitted, change, options);
    }
    const events: TimedEvent[] = [];
    this.#uncommitted = events;
    // Ids are the order of what happened: while events wait, those of this commit wait behind them.
    const isInLine = this.#backlog.events.length > 0;
    let committed;
    try {
      committed = this.#database.transaction(() => {
        const rows = this.#backlog.writeRows();
        const result = change(this.#emitter(events));
        if (!isInLine) {
          events.forEach((event) => this.#database.events.insert(event));
        }
        return { rows, result };
      }, options);
    } finally {
      this.#uncommitted = undefined;
    }
    if (isInLine) {
      this.#backlog.add(events);
    }
    this.#publish(events);
    this.#backlog.rowsStored(committed.rows);
    this.#pruneLater(events.length);
    return committed.result;
  }

  /** See `Journal`. Inside a commit it waits for its end: that may still fail, and the fact stands. */
  note(drafts: readonly EventDraft[], row?: RowFact): void {
    const events = drafts.map((draft) => this.#timed(draft));
    const isFirst = this.#backlog.isEmpty;
    this.#backlog.add(events, row);
    if (this.#uncommitted !== undefined) {
      this.#backlog.retryLater();
    } else if (isFirst || row?.durable === true) {
      this.#backlog.store({ durable: row?.durable ?? false });
    }
    this.#publish(events);
    this.#pruneLater(events.length);
  }

  /** See `Journal`. */
  settle(): void {
    if (!this.#backlog.isEmpty) {
      this.commit(() => undefined);
    }
  }

  /** See `Journal`. */
  tell(event: EventDraft): void {
    this.#publish([this.#timed(event)]);
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

  /** Ends every stream and tries once more to store what waits; events can still be committed. */
  [Symbol.dispose](): void {
    this.#closed = true;
    for (const subscription of this.#subscriptions) {
      this.#drop(subscription);
    }
    if (this.#pruning !== undefined) {
      clearImmediate(this.#pruning);
    }
    this.#backlog[Symbol.dispose]();
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
        const waiting = this.#backlog.events.filter(isBetween(since, until)).map(toMessage);
        subscription.goLive();
        yield* waiting.filter((event) => subscription.matches(event));
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
    events: TimedEvent[],
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

  #emitter(events: TimedEvent[]): (event: EventDraft) => void {
    return (draft) => {
      invariant(this.#uncommitted === events, `event ${draft.type} ${draft.action} outside of its commit`);
      events.push(this.#timed(draft));
    };
  }

  #timed(draft: EventDraft): TimedEvent {
    return { ...draft, timeNano: draft.timeNano ?? this.#clock.nowNano() };
  }

  #publish(events: readonly TimedEvent[]): void {
    this.#published += events.length;
    if (this.#subscriptions.size === 0) {
      return;
    }
    for (const event of events.map(toMessage)) {
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

function isBetween(since: bigint | undefined, until: bigint | undefined): (event: TimedEvent) => boolean {
  return ({ timeNano }) =>
    (since === undefined || timeNano >= since) && (until === undefined || timeNano <= until);
}

function typed(row: StoredEventRow): TimedEvent {
  // Only `commit` writes this column, and it takes an EventType.
  return { ...row, type: row.type as TimedEvent['type'] };
}

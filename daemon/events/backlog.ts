import type { Database } from '../../storage/database/rows.ts';
import type { Clock } from '../base/clock.ts';
import { InvariantError, isEngineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { RowFact } from './journal-types.ts';
import type { TimedEvent } from './message.ts';

export interface BacklogDeps {
  database: Pick<Database, 'transaction' | 'events'>;
  clock: Clock;
  log: Logger;
}

interface WaitingRow {
  write(): void;
  /** Of each fact about this row that the newest has taken the place of, and of itself. */
  stored: (() => void)[];
}

/**
 * Facts to be written to the database: normally in the same call; while the disk is full or read-only they wait here,
 * in memory. Rows are few, each is kept once and written as the newest fact has it. Events are kept in order up to a
 * bound, past which the oldest are dropped and counted: history may be dropped, state never is.
 *
 * Nothing that is committed later may overtake a row that waits: `writeRows` is the beginning of each transaction.
 */
export class Backlog implements Disposable {
  readonly #database: BacklogDeps['database'];
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #rows = new Map<string, WaitingRow>();
  #events: TimedEvent[] = [];
  #dropped = 0;
  #delayMs: number = limits.backlogRetryMs;
  #timer: Disposable | undefined;
  #isRefused = false;
  #isClosed = false;

  constructor(deps: BacklogDeps) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#log = deps.log;
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0 && this.#events.length === 0;
  }

  /** Events that are published and not stored, oldest first. */
  get events(): readonly TimedEvent[] {
    return this.#events;
  }

  /** Takes a fact; `store` or a retry brings it into the database. */
  add(events: readonly TimedEvent[], row?: RowFact): void {
    this.#events.push(...events);
    const excess = this.#events.length - limits.backlogEventsMax;
    if (excess > 0) {
      this.#events.splice(0, excess);
      this.#dropped += excess;
    }
    if (row !== undefined) {
      const before = this.#rows.get(row.key)?.stored ?? [];
      const stored = row.stored === undefined ? before : [...before, () => row.stored?.()];
      this.#rows.set(row.key, { write: () => row.write(), stored });
    }
  }

  /** One attempt to store all of it, in one transaction. What is refused is tried again later. Never throws. */
  store(options: { durable: boolean } = { durable: false }): void {
    const events = [...this.#events];
    try {
      const rows = this.#database.transaction(() => {
        const written = this.writeRows();
        events.forEach((event) => this.#database.events.insert(event));
        return written;
      }, options);
      this.#events.splice(0, events.length);
      this.rowsStored(rows);
    } catch (error) {
      this.#refused(error);
    }
  }

  /** Another attempt by itself, soon. */
  retryLater(): void {
    if (this.#timer === undefined && !this.#isClosed) {
      this.#timer = this.#clock.setTimeout(() => this.#retry(), this.#delayMs);
    }
  }

  /** Within a transaction: all rows that wait. Answers what `rowsStored` is to be told after the commit. */
  writeRows(): ReadonlyMap<string, WaitingRow> {
    const written = new Map(this.#rows);
    for (const [key, row] of written) {
      try {
        this.#database.transaction(() => row.write());
      } catch (error) {
        if (!isBug(error)) {
          throw error;
        }
        // It would be refused for ever, and so would everything behind it.
        this.#log.error({ row: key, err: error }, 'bug: a row cannot be written and is given up');
      }
    }
    return written;
  }

  /** These rows are committed. */
  rowsStored(rows: ReadonlyMap<string, WaitingRow>): void {
    for (const [key, row] of rows) {
      if (this.#rows.get(key) === row) {
        this.#rows.delete(key);
      }
    }
    this.#accepted();
    for (const { stored } of rows.values()) {
      stored.forEach((tell) => tell());
    }
  }

  /** A last attempt; what the disk still refuses then is found out again from the kernel by the next daemon. */
  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#isClosed = true;
    this.#storePiecemeal();
    if (!this.isEmpty) {
      this.#log.error(
        { rows: [...this.#rows.keys()], events: this.#events.length },
        'the disk has refused these changes to the end',
      );
    }
  }

  #retry(): void {
    this.#timer = undefined;
    this.#delayMs = Math.min(this.#delayMs * 2, limits.backlogRetryMaxMs);
    this.#storePiecemeal();
  }

  /** Rows first: they are the truth. Then history, as much of it as there is room for. */
  #storePiecemeal(): void {
    try {
      if (this.#rows.size > 0) {
        this.rowsStored(this.#database.transaction(() => this.writeRows()));
      }
      while (this.#events.length > 0) {
        const some = this.#events.slice(0, limits.eventReplayPageRows);
        this.#database.transaction(() => some.forEach((event) => this.#database.events.insert(event)));
        this.#events.splice(0, some.length);
      }
      this.#accepted();
    } catch (error) {
      this.#refused(error);
    }
  }

  #refused(error: unknown): void {
    if (!this.#isRefused) {
      this.#isRefused = true;
      this.#log.error(
        { err: error, rows: this.#rows.size, events: this.#events.length },
        'the disk takes no changes: they are kept in memory',
      );
    }
    this.retryLater();
  }

  #accepted(): void {
    if (!this.isEmpty) {
      this.retryLater();
    } else if (this.#isRefused) {
      this.#log.info({ droppedEvents: this.#dropped }, 'the disk has taken all changes that waited');
      this.#isRefused = false;
      this.#dropped = 0;
      this.#delayMs = limits.backlogRetryMs;
    }
  }
}

/** Not the disk's refusal: a row that is not there, or that contradicts another. */
function isBug(error: unknown): boolean {
  return error instanceof InvariantError || isEngineError(error, 'conflict');
}

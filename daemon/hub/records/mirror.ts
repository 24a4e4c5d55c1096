import type { Clock } from '../../base/clock.ts';
import { KeyedMutex } from '../../base/concurrency/mutex.ts';
import { conflict, errorText, isEngineError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import { KnownRecords } from './known-records.ts';
import type { HubRecord, RecordChange, RecordEvent, Records } from './port.ts';

export interface MirrorDeps {
  records: Records;
  clock: Clock;
  log: Logger;
}

/** What is to be changed, and what to answer once it is. */
export interface Decision<T> {
  changes: readonly RecordChange[];
  answer: T;
}

/**
 * The records below one prefix, in memory: the hub decides and answers from it. It follows the records as others change
 * them; what this host has changed it knows when `change` has answered.
 */
export class Mirror implements Disposable {
  readonly #deps: MirrorDeps;
  readonly #prefix: string;
  readonly #known = new KnownRecords();
  readonly #waiting = new Set<() => void>();
  /** For changes that were decided anew. */
  readonly #turns = new KeyedMutex();
  readonly #followers: { prefix: string; told: (value: unknown) => void }[] = [];
  #revision = 0;
  #watch: Disposable | undefined;
  #isClosed = false;

  /** Reads all of them. Throws what the records throw. */
  static async open(deps: MirrorDeps, prefix: string): Promise<Mirror> {
    const mirror = new Mirror(deps, prefix);
    await mirror.#load();
    return mirror;
  }

  private constructor(deps: MirrorDeps, prefix: string) {
    this.#deps = deps;
    this.#prefix = prefix;
  }

  /** As of which update the records are known. Counts up with every change of them. */
  get revision(): number {
    return this.#revision;
  }

  get(key: string): HubRecord | undefined {
    return this.#known.get(key);
  }

  /** Those below a prefix, in no order. */
  below(prefix: string): Generator<HubRecord> {
    return this.#known.below(prefix);
  }

  /**
   * Decides on what is known, writes it, and decides anew when somebody else was faster. `decide` is pure but for what
   * it throws, and gives each change the revision that it was decided on. Throws conflict after
   * `limits.hubUpdateAttempts` attempts.
   */
  async change<T>(decide: () => Decision<T>): Promise<T> {
    // Records that answer later see many changes decide on one counter: those that lost take turns, the next ones too.
    if (!this.#turns.isLocked('')) {
      const first = await this.#attempt(decide);
      if ('answer' in first) {
        return first.answer;
      }
    }
    return await this.#turns.run('', async () => {
      for (let attempt = 2; ; attempt += 1) {
        const made = await this.#attempt(decide);
        if ('answer' in made) {
          return made.answer;
        }
        if (attempt >= limits.hubUpdateAttempts) {
          throw conflict(`${errorText(made.conflict)}, ${attempt} times: try again`, {
            cause: made.conflict,
          });
        }
      }
    });
  }

  /** Tells, for as long as the mirror is there, each record below a prefix that is put from now on. */
  follow(prefix: string, told: (value: unknown) => void): void {
    this.#followers.push({ prefix, told });
  }

  /** Resolves when the records are known as of a revision of theirs, or the mirror is closed. */
  async known(revision: number): Promise<void> {
    while (this.#revision < revision && !this.#isClosed) {
      await this.#reach(revision);
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#watch?.[Symbol.dispose]();
    this.#wake();
  }

  async #attempt<T>(decide: () => Decision<T>): Promise<{ answer: T } | { conflict: unknown }> {
    const seen = this.#revision;
    const { changes, answer } = decide();
    try {
      await this.#reach(await this.#deps.records.update(changes));
      return { answer };
    } catch (error) {
      if (!isEngineError(error, 'conflict')) {
        throw error;
      }
      await this.#reach(seen + 1);
      return { conflict: error };
    }
  }

  async #load(): Promise<void> {
    const { records } = this.#deps;
    const found = new Map<string, HubRecord>();
    let from: number | undefined;
    for (let after = ''; ;) {
      const page = await records.list(this.#prefix, { after });
      // What changes between two pages is told by the watch, which begins at the first.
      from ??= page.revision;
      for (const record of page.records) {
        found.set(record.key, record);
      }
      const last = page.records.at(-1);
      if (last === undefined) {
        break;
      }
      after = last.key;
    }
    this.#known.clear();
    for (const record of found.values()) {
      this.#known.set(record);
    }
    this.#revision = from;
    if (!this.#isClosed) {
      this.#watch = records.watch(this.#prefix, from + 1, {
        onChanges: (events, revision) => this.#apply(events, revision),
        onRelist: () => this.#again(),
      });
    }
    this.#wake();
  }

  #apply(events: readonly RecordEvent[], revision: number): void {
    for (const event of events) {
      if (event.kind === 'delete') {
        this.#known.delete(event.key);
      } else if ((this.#known.get(event.record.key)?.revision ?? 0) < event.record.revision) {
        this.#known.set(event.record);
        this.#tell(event.record);
      }
    }
    this.#revision = Math.max(this.#revision, revision);
    this.#wake();
  }

  #tell({ key, value }: HubRecord): void {
    for (const { prefix, told } of this.#followers) {
      if (key.startsWith(prefix)) {
        told(value);
      }
    }
  }

  /** Lists again; until that has succeeded it answers what it knew last. */
  #again(): void {
    if (this.#isClosed) {
      return;
    }
    this.#load().catch((error: unknown) => {
      this.#deps.log.warn({ reason: errorText(error) }, 'the records of the hub could not be read again');
      this.#deps.clock.setTimeout(() => this.#again(), limits.hubRelistMs);
    });
  }

  /** Resolves when the records are known as of a revision, or after a while: the watch may have nothing to tell. */
  #reach(revision: number): Promise<void> {
    if (this.#revision >= revision || this.#isClosed) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.#revision >= revision || this.#isClosed) {
          done();
        }
      };
      const done = (): void => {
        timer[Symbol.dispose]();
        this.#waiting.delete(look);
        resolve();
      };
      const timer = this.#deps.clock.setTimeout(done, limits.hubCatchUpMs);
      this.#waiting.add(look);
    });
  }

  #wake(): void {
    for (const look of this.#waiting) {
      look();
    }
  }
}

import { failpoint } from '../../../base/failpoint.ts';
import { limits } from '../../../base/limits.ts';

/** What it needs of the database (storage/database/rows.ts). */
export interface SetDatabase {
  readonly hubRecords: {
    below(page: { prefix: string; after: string; limit: number }): Row[];
    put(row: Row): void;
    remove(key: string): void;
  };
  readonly meta: { get(key: string): string | undefined; set(key: string, value: string): void };
  transaction<T>(change: () => T, options?: { durable?: boolean }): T;
}

interface Row {
  key: string;
  /** JSON. */
  value: string;
  revision: number;
}

/** A record without the place that it is kept in. */
export interface MovedRecord {
  key: string;
  value: unknown;
}

/** Rows of `meta`: the newest revision; which move has begun; of which swarm these records are a copy. */
const REVISION = 'hub.revision';
const MOVE = 'hub.move';
const COPY = 'hub.copy-of';

/**
 * The records in this host's database as a whole, for moves. While the host is in a swarm that has records of its own
 * they are kept aside: nobody changes them.
 */
export class LocalSet {
  readonly #database: SetDatabase;
  readonly #accounts: string;

  /** `accounts`: the prefix of records that somebody would miss; of the hub its accounts. */
  constructor(database: SetDatabase, accounts = 'account/') {
    this.#database = database;
    this.#accounts = accounts;
  }

  /** Without accounts there is nothing that anybody would miss. */
  get hasAccounts(): boolean {
    return this.#database.hubRecords.below({ prefix: this.#accounts, after: '', limit: 1 }).length > 0;
  }

  /** `alice`, `acme`. */
  get accountNames(): string[] {
    return Array.from(this.below(this.#accounts), ({ key }) => key.slice(this.#accounts.length));
  }

  /** The move into a swarm that was begun last; `''` = none. */
  get move(): string {
    return this.#database.meta.get(MOVE) ?? '';
  }

  /** The swarm that these records were taken out of, until they are used; `''` = none. */
  get copyOf(): string {
    return this.#database.meta.get(COPY) ?? '';
  }

  *below(prefix: string): Generator<MovedRecord> {
    for (let after = ''; ;) {
      const rows = this.#database.hubRecords.below({ prefix, after, limit: limits.hubPageRecords });
      const last = rows.at(-1);
      if (last === undefined) {
        return;
      }
      for (const { key, value } of rows) {
        yield { key, value: JSON.parse(value) };
      }
      after = last.key;
    }
  }

  begin(move: string): void {
    this.#mark({ [MOVE]: move });
  }

  /** They are the records of this host again, which may change. */
  use(): void {
    if (this.move !== '' || this.copyOf !== '') {
      this.#mark({ [MOVE]: '', [COPY]: '' });
    }
  }

  /** They are elsewhere now. Ids that were given do not come again on this host either. */
  clear(): void {
    failpoint('hub.move.clear');
    const counters = [...this.below('counter/')];
    this.#database.transaction(() => this.#put(counters, { [MOVE]: '', [COPY]: '' }), { durable: true });
  }

  /** In place of what is here. */
  replace(records: readonly MovedRecord[], copyOf: string): void {
    failpoint('hub.move.replace');
    this.#database.transaction(() => this.#put(records, { [MOVE]: '', [COPY]: copyOf }), { durable: true });
  }

  #put(records: readonly MovedRecord[], marks: Readonly<Record<string, string>>): void {
    const { hubRecords, meta } = this.#database;
    for (const { key } of this.below('')) {
      hubRecords.remove(key);
    }
    const revision = Number(meta.get(REVISION) ?? 0) + 1;
    for (const { key, value } of records) {
      hubRecords.put({ key, value: JSON.stringify(value), revision });
    }
    meta.set(REVISION, String(revision));
    Object.entries(marks).forEach(([name, value]) => meta.set(name, value));
  }

  #mark(marks: Readonly<Record<string, string>>): void {
    this.#database.transaction(
      () => Object.entries(marks).forEach(([name, value]) => this.#database.meta.set(name, value)),
      { durable: true },
    );
  }
}

import type Sqlite from 'better-sqlite3';
import { errorText } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';
import type { Logger } from '../../daemon/base/logger.ts';

/** A row that was taken out of its table because it could not be read. */
export interface QuarantinedRow {
  tableName: string;
  rowKey: string;
  reason: string;
}

/** Tables whose rows hold JSON, with their key. The names go into SQL, so they are a closed set. */
export type QuarantinableTable = 'containers' | 'volumes' | 'networks' | 'events';

const KEY_COLUMN = {
  containers: 'id',
  volumes: 'name',
  networks: 'id',
  events: 'id',
} as const satisfies Record<QuarantinableTable, string>;

/**
 * Where unreadable rows go: one damaged record costs that record, not the daemon's start. The raw columns are kept as
 * JSON, for a repair by hand.
 */
export class Quarantine {
  readonly #connection: Sqlite.Database;
  readonly #log: Logger;
  /** Those that are still in their tables: the disk took no change. */
  readonly #unmoved: QuarantinedRow[] = [];

  constructor(connection: Sqlite.Database, log: Logger) {
    this.#connection = connection;
    this.#log = log;
  }

  /** Decodes each raw row; one that throws is moved away and left out of the result. */
  decodeAll<Raw extends object, Row>(
    table: QuarantinableTable,
    rawRows: readonly Raw[],
    keyOf: (raw: Raw) => string | bigint,
    decode: (raw: Raw) => Row,
  ): Row[] {
    const rows: Row[] = [];
    for (const raw of rawRows) {
      try {
        rows.push(decode(raw));
      } catch (error) {
        this.#take(table, keyOf(raw), raw, errorText(error));
      }
    }
    return rows;
  }

  /** Everything taken out so far, also by earlier daemons. */
  list(): QuarantinedRow[] {
    const moved = this.#connection
      .prepare<[], QuarantinedRow>(
        'SELECT table_name AS tableName, row_key AS rowKey, reason FROM quarantine ORDER BY id',
      )
      .all();
    return [...moved, ...this.#unmoved];
  }

  /** A full disk must not keep the daemon from starting: the row stays, unread, for the next start to move. */
  #take(tableName: QuarantinableTable, key: string | bigint, raw: object, reason: string): void {
    try {
      this.#move(tableName, key, raw, reason);
    } catch (error) {
      this.#unmoved.push({ tableName, rowKey: String(key), reason });
      this.#log.error(
        { table: tableName, key: String(key), reason, err: error },
        'unreadable row left out; it could not be moved to the quarantine table',
      );
    }
  }

  #move(table: QuarantinableTable, key: string | bigint, raw: object, reason: string): void {
    const content = JSON.stringify(raw, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    this.#connection.transaction(() => {
      this.#connection
        .prepare(
          'INSERT INTO quarantine (table_name, row_key, reason, content, found_at) VALUES (?, ?, ?, ?, ?)',
        )
        .run(table, String(key), reason, content, new Date().toISOString());
      this.#connection.prepare(`DELETE FROM ${table} WHERE ${KEY_COLUMN[table]} = ?`).run(key);
      failpoint('database.quarantine.move');
    })();
    this.#log.error({ table, key: String(key), reason }, 'unreadable row moved to the quarantine table');
  }
}

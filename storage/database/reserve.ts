import { closeSync, fstatSync, openSync, statfsSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';

/** A key of the table `meta` that is there while free pages are made. */
const KEY = 'reserve';

/**
 * Room inside the database's own files, so that a full disk does not keep facts from them: pages of the main file that
 * are free, and a write-ahead log as long as it gets between two checkpoints. A file beside the database that is
 * deleted when the disk is full would not do: the program that fills the disk takes that room first.
 *
 * SQLite keeps both: it never gives free pages back (no auto_vacuum), and it writes over its log without cutting it
 * (no journal_size_limit) for as long as the connection lives.
 */
export class Reserve {
  readonly #connection: Sqlite.Database;
  readonly #path: string;
  readonly #log: Logger;
  readonly #insert: Sqlite.Statement<[string, number]>;
  readonly #delete: Sqlite.Statement<[string]>;

  constructor(connection: Sqlite.Database, path: string, log: Logger) {
    this.#connection = connection;
    this.#path = path;
    this.#log = log;
    this.#insert = connection.prepare(
      'INSERT OR REPLACE INTO meta (key, value) VALUES (?, hex(zeroblob(?)))',
    );
    this.#delete = connection.prepare('DELETE FROM meta WHERE key = ?');
  }

  /** Makes what is missing of it, unless the disk has become too full for that. Never throws. */
  fill(): void {
    try {
      if (this.#roomBytes() < limits.diskReserveBytes) {
        return;
      }
      // Left by a daemon that died in between.
      this.#delete.run(KEY);
      this.#lengthenLog();
      if (this.#freeBytes() < limits.databaseReserveBytes / 2) {
        this.#addFreePages();
      }
    } catch (error) {
      this.#log.warn({ reason: errorText(error) }, 'no room could be reserved for the database');
    }
  }

  #roomBytes(): number {
    const { bavail, bsize } = statfsSync(dirname(this.#path));
    return bavail * bsize;
  }

  /** SQLite finds the end of its log by checksums: what is behind it does not matter. */
  #lengthenLog(): void {
    const file = openSync(`${this.#path}-wal`, 'r+');
    try {
      const { size } = fstatSync(file);
      if (size < limits.databaseLogBytes) {
        writeSync(file, Buffer.alloc(limits.databaseLogBytes - size), 0, undefined, size);
      }
    } finally {
      closeSync(file);
    }
  }

  #freeBytes(): number {
    const value = (pragma: string): number => Number(this.#connection.pragma(pragma, { simple: true }));
    return value('freelist_count') * value('page_size');
  }

  /** Pages count when they were written to the file itself: until the checkpoint they are in the log only. */
  #addFreePages(): void {
    // Two digits of each byte.
    this.#insert.run(KEY, limits.databaseReserveBytes / 2);
    this.#connection.pragma('wal_checkpoint(PASSIVE)');
    this.#delete.run(KEY);
  }
}

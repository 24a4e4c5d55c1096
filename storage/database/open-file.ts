import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { EngineError, errorText } from '../../daemon/base/errors.ts';
import { limits } from '../../daemon/base/limits.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations/index.ts';

/**
 * Opens the file (made 0600 when missing), checks it and brings its schema up to date.
 *
 * One connection per file, and SQLite sees to it: with an exclusive lock from before the first access, the index of the
 * write-ahead log is kept on the heap (https://sqlite.org/wal.html, "use of WAL without shared-memory"). The `-shm`
 * file would be mapped, and a full disk that cannot back one of its pages ends the process with SIGBUS. Others read a
 * copy (`copy-file.ts`).
 *
 * Nothing is written that was there before: a daemon has to start on a full disk.
 */
export function openFile(path: string, log: Logger): Sqlite.Database {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // SQLite gives its -wal file the mode of the database: private from the first byte.
    closeSync(openSync(path, 'a', 0o600));
  }
  let connection: Sqlite.Database | undefined;
  try {
    connection = new Sqlite(path, { timeout: limits.databaseBusyMs });
    // Before the mode of the journal is asked for: that is the first access.
    connection.pragma('locking_mode = EXCLUSIVE');
    connection.pragma('journal_mode = WAL');
    connection.pragma('synchronous = NORMAL');
    connection.pragma('temp_store = MEMORY');
    check(connection, log);
    // Off while the schema changes: rebuilding a table would cascade.
    connection.pragma('foreign_keys = OFF');
    migrate(connection, migrations);
    connection.pragma('foreign_keys = ON');
    return connection;
  } catch (error) {
    connection?.close();
    throw error instanceof EngineError
      ? error
      : new EngineError('internal', `open database ${path}: ${errorText(error)}`, { cause: error });
  }
}

/** Indexes can be rebuilt from their tables; damage of a table cannot be repaired here. */
function check(connection: Sqlite.Database, log: Logger): void {
  const problems = pragmaTexts(connection, 'quick_check');
  if (problems.length === 0) {
    return;
  }
  log.error({ database: connection.name, problems }, 'database is damaged, rebuilding its indexes');
  try {
    connection.exec('REINDEX');
  } catch (error) {
    // The second check below decides; why the repair failed is still worth a line.
    log.error({ database: connection.name, err: error }, 'rebuilding the indexes of the database failed');
  }
  const remaining = pragmaTexts(connection, 'quick_check');
  if (remaining.length > 0) {
    throw new EngineError(
      'internal',
      `database ${connection.name} is damaged (${remaining[0]}); restore it from a backup or move it away`,
    );
  }
}

/** The findings of `quick_check` or `integrity_check`; empty when SQLite says "ok". */
export function pragmaTexts(connection: Sqlite.Database, pragma: string): string[] {
  const rows = connection.prepare(`PRAGMA ${pragma}`).pluck().all();
  return rows.map(String).filter((text) => text !== 'ok');
}

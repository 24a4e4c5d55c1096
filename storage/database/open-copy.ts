import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { EngineError, errnoOf, errorText } from '../../daemon/base/errors.ts';
import type { Logger } from '../../daemon/base/logger.ts';
import { copyDatabase } from './copy-file.ts';
import { openFile } from './open-file.ts';

/** SQLite's and the kernel's words for a disk that takes nothing. */
const REFUSALS = /^(EROFS|ENOSPC|SQLITE_(FULL|READONLY|CANTOPEN|IOERR).*)$/;

/**
 * Opens the database at `path` as `openFile` does; on a disk that is full in the middle of a change of its schema, or
 * read-only, a copy of it that takes no changes. So the daemon starts, and containers can be seen, stopped and removed:
 * what happens waits in memory, as it does when the disk refuses changes later. The copy has no name left in `folder`,
 * which is on another disk, once it is open. Throws internal, naming path and folder, where there is no room for it.
 */
export function openWritableOrCopy(
  path: string,
  folder: string,
  log: Logger,
): { connection: Sqlite.Database; isCopy: boolean } {
  try {
    return { connection: openFile(path, log), isCopy: false };
  } catch (error) {
    if (!isRefusal(error)) {
      throw error;
    }
    const connection = openCopy(path, folder, log);
    log.error(
      { reason: errorText(error) },
      `${path} takes no changes: containers can be seen, stopped and removed until the daemon ends; ` +
        'make its disk writable or free space on it, then restart berthd',
    );
    return { connection, isCopy: true };
  }
}

function openCopy(path: string, folder: string, log: Logger): Sqlite.Database {
  const copy = join(folder, 'berth.db-copy');
  try {
    copyDatabase(path, copy);
    const connection = openFile(copy, log);
    // Of the copy nothing would be left: what must be stored before it is answered is refused.
    connection.pragma('query_only = ON');
    return connection;
  } catch (error) {
    throw new EngineError(
      'internal',
      `${path} takes no changes, and no copy could be opened in ${folder}: ${errorText(error)}; ` +
        'make the disk writable or free space on it',
      { cause: error },
    );
  } finally {
    for (const name of [copy, `${copy}-wal`]) {
      rmSync(name, { force: true });
    }
  }
}

function isRefusal(error: unknown): boolean {
  const code = error instanceof Sqlite.SqliteError ? error.code : (errnoOf(error) ?? '');
  const { cause } = error instanceof Error ? error : {};
  return REFUSALS.test(code) || (cause !== undefined && isRefusal(cause));
}

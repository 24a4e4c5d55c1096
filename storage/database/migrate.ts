import type Sqlite from 'better-sqlite3';
import { EngineError, invariant } from '../../daemon/base/errors.ts';
import { failpoint } from '../../daemon/base/failpoint.ts';

/** One step of the schema. `number` counts from 1 without gaps. */
export interface Migration {
  number: number;
  name: string;
  sql: string;
}

/**
 * Brings the schema to the newest number. The number lives in SQLite's `user_version`, which is written in the same
 * transaction as the step itself: a daemon killed half-way finds the step either done or not begun.
 * Throws internal when the file was written by a newer program.
 */
export function migrate(connection: Sqlite.Database, migrations: readonly Migration[]): void {
  invariant(
    migrations.every((migration, index) => migration.number === index + 1),
    'migrations are numbered from 1 without gaps',
  );
  const current = Number(connection.pragma('user_version', { simple: true }));
  if (current > migrations.length) {
    throw new EngineError(
      'internal',
      `database ${connection.name} has schema ${current}, written by a newer berthd; ` +
        `this one knows ${migrations.length}`,
    );
  }
  for (const migration of migrations.slice(current)) {
    connection.exec('BEGIN IMMEDIATE');
    try {
      connection.exec(migration.sql);
      failpoint('database.migrate.step');
      connection.pragma(`user_version = ${migration.number}`);
      connection.exec('COMMIT');
    } catch (error) {
      if (connection.inTransaction) {
        connection.exec('ROLLBACK');
      }
      throw new EngineError(
        'internal',
        `migrate ${connection.name} to ${migration.number} (${migration.name})`,
        {
          cause: error,
        },
      );
    }
    failpoint('database.migrate.stepped');
  }
}

import Database from 'better-sqlite3';
import { migrations } from '../../../storage/database/migrations/index.ts';

/** Puts a database that nobody has open back to the schema `version`, with all that this one holds. */
export function downgrade(file: string, version: number): void {
  const old = new Database(':memory:');
  for (const { sql } of migrations.filter(({ number }) => number <= version)) {
    old.exec(sql);
  }
  const connection = new Database(file);
  connection.pragma('foreign_keys = OFF');
  for (const index of added('index', connection, old)) {
    connection.exec(`DROP INDEX "${index}"`);
  }
  for (const table of added('table', connection, old)) {
    connection.exec(`DROP TABLE "${table}"`);
  }
  for (const table of namesOf('table', connection)) {
    const columns = new Set(columnsOf(old, table));
    for (const column of columnsOf(connection, table).filter((name) => !columns.has(name))) {
      connection.exec(`ALTER TABLE "${table}" DROP COLUMN "${column}"`);
    }
  }
  connection.pragma(`user_version = ${version}`);
  connection.exec('VACUUM');
  connection.close();
  old.close();
}

function added(type: 'table' | 'index', connection: Database.Database, old: Database.Database): string[] {
  const known = new Set(namesOf(type, old));
  return namesOf(type, connection).filter((name) => !known.has(name));
}

/** Those that were declared: SQLite has indexes and tables of its own. */
function namesOf(type: 'table' | 'index', connection: Database.Database): string[] {
  const rows = connection
    .prepare('SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL')
    .pluck()
    .all(type);
  return rows.map(String).filter((name) => !name.startsWith('sqlite_'));
}

function columnsOf(connection: Database.Database, table: string): string[] {
  return connection.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table).map(String);
}

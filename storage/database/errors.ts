import Sqlite from 'better-sqlite3';
import { EngineError, conflict, diskFull } from '../../daemon/base/errors.ts';

/**
 * Runs one statement and puts SQLite's refusals into the engine's terms. `operation` names verb and object:
 * `insert container 4f2a`. Nothing outside this folder knows SQLite's codes.
 */
export function named<T>(operation: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof Sqlite.SqliteError ? translate(operation, error) : error;
  }
}

function translate(operation: string, error: InstanceType<typeof Sqlite.SqliteError>): EngineError {
  const options = { cause: error, details: { sqlite: error.code } };
  switch (error.code) {
    case 'SQLITE_CONSTRAINT_UNIQUE':
    case 'SQLITE_CONSTRAINT_PRIMARYKEY':
    case 'SQLITE_CONSTRAINT_ROWID':
      return conflict(`${operation}: ${takenColumns(error.message)} already in use`, options);
    case 'SQLITE_CONSTRAINT_FOREIGNKEY':
      return conflict(
        `${operation}: refers to something that does not exist or is still referred to`,
        options,
      );
    case 'SQLITE_FULL':
      return diskFull(`${operation}: no space left on device`, options);
    case 'SQLITE_READONLY':
      // Only a copy is opened so (`open-copy.ts`).
      return new EngineError(
        'internal',
        `${operation}: the database takes no changes: its disk was full or read-only when berthd started`,
        options,
      );
    default:
      return new EngineError('internal', `${operation}: ${error.message}`, options);
  }
}

// "UNIQUE constraint failed: containers.name" -> "name"
function takenColumns(message: string): string {
  const columns = message.split(': ')[1] ?? '';
  return columns.replaceAll(/\w+\./g, '') || 'value';
}

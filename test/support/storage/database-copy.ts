import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'better-sqlite3';

/** A look at a database that its daemon keeps to itself: at a copy of it, made while nothing changed. */
export function readDatabase<T>(file: string, read: (database: Database.Database) => T): T {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-copy-'));
  const copy = path.join(folder, 'copy.db');
  let database: Database.Database | undefined;
  try {
    let before: string;
    do {
      before = changedAt(file);
      copyFileSync(file, copy);
      if (existsSync(`${file}-wal`)) {
        copyFileSync(`${file}-wal`, `${copy}-wal`);
      }
    } while (before !== changedAt(file));
    database = new Database(copy);
    return read(database);
  } finally {
    database?.close();
    rmSync(folder, { recursive: true });
  }
}

function changedAt(file: string): string {
  return [file, `${file}-wal`]
    .map((each) => statSync(each, { bigint: true, throwIfNoEntry: false })?.mtimeNs ?? 'none')
    .join(' ');
}

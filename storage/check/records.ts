import type { Finding } from './finding.ts';
import { remains, whole } from './finding.ts';
import type { Store } from './store.ts';

/**
 * The file itself, as SQLite finds it. Indexes are made anew from their tables; damage of a table cannot be repaired
 * here.
 */
export function checkDatabase({ records }: Store, problems: readonly string[]): Finding[] {
  return problems.map((problem) => ({
    kind: 'database',
    subject: 'the database',
    problem,
    remedy: 'its indexes are made anew from its tables',
    repair: () => {
      records.reindex();
      const [left] = records.integrityProblems();
      return left === undefined
        ? whole('its indexes were made anew')
        : remains(`${left}: restore berth.db from a backup`);
    },
  }));
}

/** Rows that cannot be read, and rows that refer to nothing. */
export function checkRecords({ records }: Store): Finding[] {
  const unreadable = records.unreadable().map(({ table, key }): Finding => ({
    kind: 'record',
    subject: `${table.replace(/s$/, '')} ${key}`,
    problem: 'has a row that cannot be read',
    remedy: 'the row is moved to the quarantine table, its files stay',
    repair: () => {
      records.quarantineUnreadable();
      return whole('the row was moved to the quarantine table, its files were left alone');
    },
  }));
  const orphans = records.orphans().map(({ table, name }): Finding => ({
    kind: 'name',
    subject: table === 'tags' ? `name ${name}` : `row ${name} of ${table}`,
    problem: table === 'tags' ? 'names an image that is not there' : 'belongs to something that is not there',
    remedy: 'it is removed',
    repair: () => {
      records.dropOrphans();
      return whole('it was removed');
    },
  }));
  return [...unreadable, ...orphans];
}

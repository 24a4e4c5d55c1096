import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { MetaTable } from '../rows.ts';

/** Single facts about this data root, for example the engine's id. */
export function metaTable(connection: Sqlite.Database): MetaTable {
  const get = connection.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck();
  const set = connection.prepare(
    'INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
  );
  return {
    get: (key) => get.get(key),
    set(key, value) {
      named(`set ${key}`, () => set.run(key, value));
      failpoint('database.meta.set');
    },
  };
}

import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { HubRecordRow, HubRecordTable } from '../rows.ts';

/** Above every character of a key, which is printable ASCII. */
const AFTER_ALL_KEYS = '\u{7f}';

/** Records of the hub, or those of the cluster interface, which are alike. */
export function hubRecordTable(connection: Sqlite.Database, whose: 'hub' | 'cluster'): HubRecordTable {
  const table = `${whose}_records`;
  const get = connection.prepare<[string], HubRecordRow>(
    `SELECT key, value, revision FROM ${table} WHERE key = ?`,
  );
  const below = connection.prepare<[string, string, number], HubRecordRow>(
    `SELECT key, value, revision FROM ${table} WHERE key > ? AND key < ? ORDER BY key LIMIT ?`,
  );
  const put = connection.prepare(
    `INSERT INTO ${table} (key, value, revision) VALUES (?, ?, ?) ` +
      'ON CONFLICT (key) DO UPDATE SET value = excluded.value, revision = excluded.revision',
  );
  const remove = connection.prepare(`DELETE FROM ${table} WHERE key = ?`);
  return {
    get: (key) => get.get(key),
    below: ({ prefix, after, limit }) =>
      below.all(after > prefix ? after : prefix, `${prefix}${AFTER_ALL_KEYS}`, limit),
    put({ key, value, revision }) {
      named(`record ${key} of the ${whose}`, () => put.run(key, value, revision));
      failpoint('database.hubrecord.put');
    },
    remove(key) {
      const { changes } = named(`record ${key} of the ${whose}`, () => remove.run(key));
      failpoint('database.hubrecord.remove');
      return changes > 0;
    },
  };
}

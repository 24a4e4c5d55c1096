import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { ClusterEventRow, ClusterEventTable } from '../rows.ts';

export function clusterEventTable(connection: Sqlite.Database): ClusterEventTable {
  const all = connection.prepare<[string, number], ClusterEventRow>(
    'SELECT key, body, revision FROM cluster_events WHERE key > ? ORDER BY key LIMIT ?',
  );
  const put = connection.prepare(
    'INSERT INTO cluster_events (key, body, revision) VALUES (?, ?, ?) ' +
      'ON CONFLICT (key) DO UPDATE SET body = excluded.body, revision = excluded.revision',
  );
  const one = connection.prepare<[string]>('SELECT 1 FROM cluster_events WHERE key = ?');
  const remove = connection.prepare('DELETE FROM cluster_events WHERE key = ?');
  return {
    after: (key, limit) => all.all(key, limit),
    has: (key) => one.get(key) !== undefined,
    put({ key, body, revision }) {
      named(`cluster event ${key}`, () => put.run(key, body, revision));
      failpoint('database.clusterevent.put');
    },
    remove(key) {
      named(`cluster event ${key}`, () => remove.run(key));
      failpoint('database.clusterevent.remove');
    },
  };
}

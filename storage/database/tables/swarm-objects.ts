import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { SwarmObjectRow, SwarmObjectTable } from '../rows.ts';

export function swarmObjectTable(connection: Sqlite.Database): SwarmObjectTable {
  const put = connection.prepare('INSERT OR REPLACE INTO swarm_objects (type, id, name) VALUES (?, ?, ?)');
  const remove = connection.prepare('DELETE FROM swarm_objects WHERE type = ? AND id = ?');
  const all = connection.prepare<[], SwarmObjectRow>('SELECT type, id, name FROM swarm_objects');
  return {
    put({ type, id, name }) {
      named(`${type} ${id} of the swarm`, () => put.run(type, id, name));
      failpoint('database.swarmobject.put');
    },
    remove({ type, id }) {
      named(`${type} ${id} of the swarm`, () => remove.run(type, id));
      failpoint('database.swarmobject.remove');
    },
    all: () => all.all(),
  };
}

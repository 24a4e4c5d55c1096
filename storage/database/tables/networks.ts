import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import { decodeJson, encodeJson } from '../json.ts';
import type { Quarantine } from '../quarantine.ts';
import type { NetworkTable } from '../rows.ts';

interface RawNetwork {
  id: string;
  name: string;
  driver: string;
  createdNano: bigint;
  spec: string;
}

export function networkTable(connection: Sqlite.Database, quarantine: Quarantine): NetworkTable {
  const insert = connection.prepare(
    'INSERT INTO networks (id, name, driver, created_nano, spec) VALUES (?, ?, ?, ?, ?)',
  );
  const remove = connection.prepare('DELETE FROM networks WHERE id = ?');
  const all = connection
    .prepare<[], RawNetwork>(
      'SELECT id, name, driver, created_nano AS createdNano, spec FROM networks ORDER BY created_nano, id',
    )
    .safeIntegers(true);
  return {
    insert({ id, name, driver, createdNano, spec }) {
      named(`insert network ${name}`, () => insert.run(id, name, driver, createdNano, encodeJson(spec)));
      failpoint('database.network.insert');
    },
    remove(id) {
      named(`remove network ${id}`, () => remove.run(id));
      failpoint('database.network.remove');
    },
    all: () =>
      quarantine.decodeAll(
        'networks',
        all.all(),
        (raw) => raw.id,
        (raw) => ({ ...raw, spec: decodeJson(raw.spec) }),
      ),
  };
}

import type Sqlite from 'better-sqlite3';
import { named } from '../errors.ts';
import type { HubLayerRow, HubLayerTable } from '../rows.ts';

const COLUMNS = 'digest, layer_id AS layerId, size_bytes AS sizeBytes';

export function hubLayerTable(connection: Sqlite.Database): HubLayerTable {
  const set = connection.prepare(
    `INSERT INTO hub_layers (digest, layer_id, size_bytes) VALUES (?, ?, ?)
     ON CONFLICT (digest) DO UPDATE SET layer_id = excluded.layer_id, size_bytes = excluded.size_bytes`,
  );
  const remove = connection.prepare('DELETE FROM hub_layers WHERE digest = ?');
  const get = connection.prepare<[string], HubLayerRow>(`SELECT ${COLUMNS} FROM hub_layers WHERE digest = ?`);
  const digests = connection.prepare<[], string>('SELECT digest FROM hub_layers ORDER BY digest').pluck();
  return {
    set: ({ digest, layerId, sizeBytes }) => {
      named(`keep layer ${digest} for the hub`, () => set.run(digest, layerId, sizeBytes));
    },
    remove: (digest) => named(`release layer ${digest}`, () => remove.run(digest)).changes > 0,
    get: (digest) => get.get(digest),
    digests: () => digests.all(),
  };
}

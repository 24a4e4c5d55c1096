import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { LayerRow, LayerTable } from '../rows.ts';

const COLUMNS = 'id, diff_id AS diffId, chain_id AS chainId, parent_id AS parentId, size_bytes AS sizeBytes';

/**
 * Layers and the counter of their ids. A layer goes only when no image, container, child layer, build record or hub
 * refers to it; records of steps that an image keeps go with it.
 */
export function layerTable(
  connection: Sqlite.Database,
  atomically: (change: () => void) => void,
): LayerTable {
  const insert = connection.prepare(
    'INSERT INTO layers (id, diff_id, chain_id, parent_id, size_bytes) VALUES (?, ?, ?, ?, ?)',
  );
  const nextId = connection
    .prepare<[], number>('UPDATE layer_counter SET last_id = last_id + 1 RETURNING last_id')
    .pluck();
  const raiseCounter = connection.prepare('UPDATE layer_counter SET last_id = max(last_id, ?)');
  const byChainId = connection.prepare<[string], LayerRow>(
    `SELECT ${COLUMNS} FROM layers WHERE chain_id = ?`,
  );
  const get = connection.prepare<[number], LayerRow>(`SELECT ${COLUMNS} FROM layers WHERE id = ?`);
  const all = connection.prepare<[], LayerRow>(`SELECT ${COLUMNS} FROM layers ORDER BY id`);
  const unreferenced = connection.prepare<[], LayerRow>(
    `SELECT ${COLUMNS} FROM layers AS layer
     WHERE NOT EXISTS (SELECT 1 FROM image_layers WHERE layer_id = layer.id)
       AND NOT EXISTS (SELECT 1 FROM container_layers WHERE layer_id = layer.id)
       AND NOT EXISTS (SELECT 1 FROM hub_layers WHERE layer_id = layer.id)
       AND NOT EXISTS (SELECT 1 FROM build_records WHERE layer_id = layer.id AND type <> 'image.step')
       AND NOT EXISTS (SELECT 1 FROM layers AS child WHERE child.parent_id = layer.id)
     ORDER BY id`,
  );
  const remove = connection.prepare('DELETE FROM layers WHERE id = ?');
  // What images keep of builds goes with its layer.
  const forget = connection.prepare("DELETE FROM build_records WHERE layer_id = ? AND type = 'image.step'");

  const reserve = (): number => {
    const id = named('reserve a layer id', () => nextId.get());
    failpoint('database.layer.reserve');
    return Number(id);
  };
  const insertRow = (row: LayerRow): void => {
    atomically(() => {
      named(`insert layer ${row.chainId}`, () => {
        insert.run(row.id, row.diffId, row.chainId, row.parentId, row.sizeBytes);
        raiseCounter.run(row.id);
      });
      failpoint('database.layer.insert');
    });
  };

  return {
    insert(row) {
      const id = reserve();
      insertRow({ ...row, id });
      return id;
    },
    byChainId: (chainId) => byChainId.get(chainId),
    get: (id) => get.get(id),
    all: () => all.all(),
    unreferenced: () => unreferenced.all(),
    remove(id) {
      atomically(() => {
        named(`remove layer ${id}`, () => {
          forget.run(id);
          remove.run(id);
        });
        failpoint('database.layer.remove');
      });
    },
    nextId: reserve,
    insertWithId: insertRow,
  };
}

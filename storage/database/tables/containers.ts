import type Sqlite from 'better-sqlite3';
import { invariant } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import { decodeJson, encodeJson } from '../json.ts';
import type { Quarantine } from '../quarantine.ts';
import type { ContainerRow, ContainerTable } from '../rows.ts';

interface RawContainer {
  id: string;
  name: string;
  imageId: string;
  createdNano: bigint;
  spec: string;
  /** Null when the state's row is missing. */
  state: string | null;
  /** `[1,2,3]`, bottom first. */
  layerIds: string;
}

/**
 * Containers, their states and the layers they stand on. The state has a table of its own: it changes with every verb,
 * and SQLite rewrites whole rows, of which the specification is the bulk.
 */
export function containerTable(
  connection: Sqlite.Database,
  quarantine: Quarantine,
  atomically: (change: () => void) => void,
): ContainerTable {
  const insertContainer = connection.prepare(
    'INSERT INTO containers (id, name, image_id, created_nano, spec) VALUES (?, ?, ?, ?, ?)',
  );
  const insertState = connection.prepare('INSERT INTO container_states (container_id, state) VALUES (?, ?)');
  const insertLayer = connection.prepare(
    'INSERT INTO container_layers (container_id, position, layer_id) VALUES (?, ?, ?)',
  );
  const updateState = connection.prepare('UPDATE container_states SET state = ? WHERE container_id = ?');
  const updateSpec = connection.prepare('UPDATE containers SET spec = ? WHERE id = ?');
  const updateName = connection.prepare('UPDATE containers SET name = ? WHERE id = ?');
  const remove = connection.prepare('DELETE FROM containers WHERE id = ?');
  const all = connection
    .prepare<[], RawContainer>(
      `SELECT id, name, image_id AS imageId, created_nano AS createdNano, spec, state,
        (SELECT json_group_array(layer_id) FROM
          (SELECT layer_id FROM container_layers WHERE container_id = containers.id ORDER BY position)) AS layerIds
       FROM containers LEFT JOIN container_states ON container_id = id
       ORDER BY created_nano, id`,
    )
    .safeIntegers(true);

  return {
    insert(row) {
      atomically(() => {
        const { id, name, imageId, createdNano } = row;
        named(`insert container ${id}`, () => {
          insertContainer.run(id, name, imageId, createdNano, encodeJson(row.spec));
          insertState.run(id, encodeJson(row.state));
          row.layerIds.forEach((layerId, position) => insertLayer.run(id, position, layerId));
        });
        failpoint('database.container.insert');
      });
    },
    setState: (id, state) => change('set state', id, updateState, encodeJson(state)),
    setSpec: (id, spec) => change('set specification', id, updateSpec, encodeJson(spec)),
    setName: (id, name) => change('set name', id, updateName, name),
    remove(id) {
      named(`remove container ${id}`, () => remove.run(id));
      failpoint('database.container.remove');
    },
    quarantined: () =>
      quarantine
        .list()
        .filter(({ tableName }) => tableName === 'containers')
        .map(({ rowKey }) => rowKey),
    all: () => quarantine.decodeAll('containers', all.all(), (raw) => raw.id, toRow),
  };
}

function change(operation: string, id: string, statement: Sqlite.Statement, value: string): void {
  const { changes } = named(`${operation} of container ${id}`, () => statement.run(value, id));
  invariant(changes === 1, `${operation} of container ${id}: it has no row`);
  failpoint('database.container.change');
}

function toRow(raw: RawContainer): ContainerRow {
  if (raw.state === null) {
    throw new SyntaxError('the container has no state');
  }
  return {
    id: raw.id,
    name: raw.name,
    imageId: raw.imageId,
    // json_group_array over an INTEGER column of a STRICT table holds integers only.
    layerIds: JSON.parse(raw.layerIds) as number[],
    createdNano: raw.createdNano,
    spec: decodeJson(raw.spec),
    state: decodeJson(raw.state),
  };
}

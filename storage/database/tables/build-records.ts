import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { limits } from '../../../daemon/base/limits.ts';
import { named } from '../errors.ts';
import type { BuildRecordRow, BuildRecordTable } from '../rows.ts';

const COLUMNS =
  'id, key, type, layer_id AS layerId, size_bytes AS sizeBytes, created_ms AS createdMs, ' +
  'last_used_ms AS lastUsedMs, usage_count AS usageCount, description';

export function buildRecordTable(connection: Sqlite.Database): BuildRecordTable {
  const insert = connection.prepare(
    `INSERT INTO build_records
       (id, key, type, layer_id, size_bytes, created_ms, last_used_ms, usage_count, description)
     VALUES (@id, @key, @type, @layerId, @sizeBytes, @createdMs, @lastUsedMs, @usageCount, @description)`,
  );
  const use = connection.prepare(
    'UPDATE build_records SET last_used_ms = ?, usage_count = usage_count + 1 WHERE id = ?',
  );
  const resize = connection.prepare('UPDATE build_records SET size_bytes = ? WHERE id = ?');
  const setType = connection.prepare('UPDATE build_records SET type = ? WHERE id = ?');
  const remove = connection.prepare('DELETE FROM build_records WHERE id = ?');
  const byKey = connection.prepare<[string], BuildRecordRow>(
    `SELECT ${COLUMNS} FROM build_records WHERE key = ?`,
  );
  const hasLayer = connection
    .prepare<[number], number>(
      "SELECT 1 FROM build_records WHERE layer_id = ? AND type <> 'image.step' LIMIT 1",
    )
    .pluck();
  const all = connection.prepare<[], BuildRecordRow>(`SELECT ${COLUMNS} FROM build_records ORDER BY id`);
  const contentKey = connection
    .prepare<[string], string>('SELECT content_key FROM build_content_keys WHERE definition_key = ?')
    .pluck();
  const setContentKey = connection.prepare(
    `INSERT INTO build_content_keys (definition_key, content_key) VALUES (?, ?)
     ON CONFLICT (definition_key) DO UPDATE SET content_key = excluded.content_key`,
  );
  // Where they are too many all go: who comes by one of them reads the files again.
  const dropContentKeys = connection.prepare(
    `DELETE FROM build_content_keys WHERE content_key = ?
       AND (SELECT count(*) FROM build_content_keys WHERE content_key = ?) >= ?`,
  );
  return {
    insert(row) {
      named(`insert build record ${row.id}`, () => insert.run(row));
      failpoint('database.build.insert');
    },
    use: (id, nowMs) => {
      named(`use build record ${id}`, () => use.run(nowMs, id));
    },
    resize: (id, sizeBytes) => {
      named(`resize build record ${id}`, () => resize.run(sizeBytes, id));
    },
    setType: (id, type) => {
      named(`change build record ${id}`, () => setType.run(type, id));
    },
    remove(id) {
      named(`remove build record ${id}`, () => remove.run(id));
      failpoint('database.build.remove');
    },
    byKey: (key) => byKey.get(key),
    hasLayer: (layerId) => hasLayer.get(layerId) !== undefined,
    all: () => all.all(),
    contentKey: (definitionKey) => contentKey.get(definitionKey),
    setContentKey: (definitionKey, key) => {
      named('keep the content key of a build', () => {
        dropContentKeys.run(key, key, limits.buildContentKeysMax);
        setContentKey.run(definitionKey, key);
      });
    },
  };
}

import type Sqlite from 'better-sqlite3';
import { invariant } from '../../../daemon/base/errors.ts';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { ImageTable } from '../rows.ts';

interface RawImage {
  id: string;
  config: Buffer;
  createdNano: bigint;
  lastTaggedNano: bigint | null;
  sizeBytes: bigint;
  layerIds: string;
}

/** Images with the layers they stand on. Removing an image takes its tags with it. */
export function imageTable(
  connection: Sqlite.Database,
  atomically: (change: () => void) => void,
): ImageTable {
  const insert = connection.prepare(
    'INSERT INTO images (id, config, created_nano, last_tagged_nano, size_bytes) VALUES (?, ?, ?, ?, ?)',
  );
  const insertLayer = connection.prepare(
    'INSERT INTO image_layers (image_id, position, layer_id) VALUES (?, ?, ?)',
  );
  const remove = connection.prepare('DELETE FROM images WHERE id = ?');
  const setLastTagged = connection.prepare('UPDATE images SET last_tagged_nano = ? WHERE id = ?');
  const all = connection
    .prepare<[], RawImage>(
      `SELECT id, config, created_nano AS createdNano, last_tagged_nano AS lastTaggedNano, size_bytes AS sizeBytes,
        (SELECT json_group_array(layer_id) FROM
          (SELECT layer_id FROM image_layers WHERE image_id = images.id ORDER BY position)) AS layerIds
       FROM images ORDER BY created_nano, id`,
    )
    .safeIntegers(true);

  return {
    insert(row) {
      atomically(() => {
        named(`insert image ${row.id}`, () => {
          insert.run(row.id, row.config, row.createdNano, row.lastTaggedNano, row.sizeBytes);
          row.layerIds.forEach((layerId, position) => insertLayer.run(row.id, position, layerId));
        });
        failpoint('database.image.insert');
      });
    },
    remove(id) {
      named(`remove image ${id}`, () => remove.run(id));
      failpoint('database.image.remove');
    },
    all: () =>
      all.all().map((raw) => ({
        ...raw,
        // json_group_array over an INTEGER column of a STRICT table holds integers only.
        layerIds: JSON.parse(raw.layerIds) as number[],
        sizeBytes: Number(raw.sizeBytes),
      })),
    setLastTagged(id, nano) {
      const { changes } = named(`set last tag time of image ${id}`, () => setLastTagged.run(nano, id));
      invariant(changes === 1, `set last tag time of image ${id}: it has no row`);
    },
  };
}

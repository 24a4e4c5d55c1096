import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { ImageDigestRow, ImageDigestTable, LayerBlobRow, LayerBlobTable } from '../rows.ts';

/** Digests that images have in repositories. They go with their image. */
export function imageDigestTable(connection: Sqlite.Database): ImageDigestTable {
  const set = connection.prepare(
    `INSERT INTO image_digests (repository, digest, image_id, is_own, list) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (repository, digest) DO UPDATE
     SET image_id = excluded.image_id, is_own = excluded.is_own, list = excluded.list`,
  );
  const remove = connection.prepare('DELETE FROM image_digests WHERE repository = ? AND digest = ?');
  const all = connection.prepare<
    [],
    Omit<ImageDigestRow, 'isOwn' | 'list'> & { isOwn: number; list: string | null }
  >(
    `SELECT repository, digest, image_id AS imageId, is_own AS isOwn, list FROM image_digests
     ORDER BY repository, digest`,
  );
  return {
    set(row) {
      named(`set digest ${row.repository}@${row.digest}`, () =>
        set.run(row.repository, row.digest, row.imageId, row.isOwn === true ? 1 : 0, row.list ?? null),
      );
      failpoint('database.digest.set');
    },
    remove(repository, digest) {
      named(`remove digest ${repository}@${digest}`, () => remove.run(repository, digest));
    },
    all: () =>
      all.all().map(({ isOwn, list, ...row }) => ({
        ...row,
        ...(isOwn === 1 && { isOwn: true }),
        ...(list !== null && { list }),
      })),
  };
}

/** Gzip blobs that hold layers, and the repositories that have them. They go with their layer. */
export function layerBlobTable(connection: Sqlite.Database): LayerBlobTable {
  const set = connection.prepare(
    `INSERT INTO layer_blobs (layer_id, repository, digest, size_bytes) VALUES (?, ?, ?, ?)
     ON CONFLICT (layer_id, repository) DO UPDATE SET digest = excluded.digest, size_bytes = excluded.size_bytes`,
  );
  const of = connection.prepare<[number], LayerBlobRow>(
    `SELECT layer_id AS layerId, repository, digest, size_bytes AS sizeBytes FROM layer_blobs
     WHERE layer_id = ? ORDER BY repository`,
  );
  const remove = connection.prepare('DELETE FROM layer_blobs WHERE layer_id = ? AND repository = ?');
  return {
    set(row) {
      named(`set blob of layer ${row.layerId} in ${row.repository}`, () =>
        set.run(row.layerId, row.repository, row.digest, row.sizeBytes),
      );
    },
    remove(layerId, repository) {
      named(`remove blob of layer ${layerId} in ${repository}`, () => remove.run(layerId, repository));
    },
    of: (layerId) => of.all(layerId),
  };
}

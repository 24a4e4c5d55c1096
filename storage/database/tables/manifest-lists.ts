import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { ListedImage, ManifestListTable } from '../rows.ts';

interface RawList {
  id: string;
  imageId: string;
  sizeBytes: number;
  isOci: number;
  names: string;
}

interface RawImage {
  imageId: string;
  digest: string | null;
  sizeBytes: number | null;
}

/** Lists that no name means any more, though names mean their image. */
const REMOVE_UNNAMED = `DELETE FROM manifest_lists
       WHERE NOT EXISTS (SELECT 1 FROM tags WHERE list = manifest_lists.id)
         AND NOT EXISTS (SELECT 1 FROM image_digests WHERE digest = manifest_lists.id)
         AND (EXISTS (SELECT 1 FROM tags WHERE image_id = manifest_lists.image_id)
           OR EXISTS (SELECT 1 FROM image_digests WHERE image_id = manifest_lists.image_id))
       RETURNING id`;

/** Lists of images. One goes with the image that its names mean. */
export function manifestListTable(
  connection: Sqlite.Database,
  atomically: (change: () => void) => void,
): ManifestListTable {
  const insert = connection.prepare(
    `INSERT INTO manifest_lists (id, image_id, size_bytes, is_oci, names) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  const insertImage = connection.prepare(
    `INSERT INTO manifest_list_images
       (list_id, position, image_id, attestations, statements_digest, statements_bytes)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (list_id, position) DO NOTHING`,
  );
  const remove = connection.prepare('DELETE FROM manifest_lists WHERE id = ?');
  const attestations = connection
    .prepare<[string, string], string | null>(
      'SELECT attestations FROM manifest_list_images WHERE list_id = ? AND image_id = ?',
    )
    .pluck();
  const removeUnnamed = connection.prepare<[], string>(REMOVE_UNNAMED).pluck();
  const all = connection.prepare<[], RawList>(
    'SELECT id, image_id AS imageId, size_bytes AS sizeBytes, is_oci AS isOci, names FROM manifest_lists ORDER BY id',
  );
  const imagesOf = connection.prepare<[string], RawImage>(
    `SELECT image_id AS imageId, statements_digest AS digest, statements_bytes AS sizeBytes
     FROM manifest_list_images WHERE list_id = ? ORDER BY position`,
  );
  return {
    insert({ id, imageId, sizeBytes, isOci, names, images }, said) {
      atomically(() => {
        named(`insert manifest list ${id}`, () => {
          insert.run(id, imageId, sizeBytes, isOci ? 1 : 0, JSON.stringify(names));
          images.forEach(({ imageId: listed, statements }, position) =>
            insertImage.run(
              id,
              position,
              listed,
              said[position] ?? null,
              statements?.digest ?? null,
              statements?.sizeBytes ?? null,
            ),
          );
        });
        failpoint('database.manifest-list.insert');
      });
    },
    remove(id) {
      named(`remove manifest list ${id}`, () => remove.run(id));
      failpoint('database.manifest-list.remove');
    },
    attestations: (id, imageId) => attestations.get(id, imageId) ?? undefined,
    removeUnnamed: () => named('remove manifest lists without a name', () => removeUnnamed.all()),
    all: () =>
      all.all().map(({ isOci, names, ...row }) => ({
        ...row,
        isOci: isOci === 1,
        // Written by us alone.
        names: JSON.parse(names) as string[],
        images: imagesOf.all(row.id).map((image) => listedImage(image)),
      })),
  };
}

function listedImage({ imageId, digest, sizeBytes }: RawImage): ListedImage {
  return digest === null || sizeBytes === null ? { imageId } : { imageId, statements: { digest, sizeBytes } };
}

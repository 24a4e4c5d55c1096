import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { DocumentAnnotations, ListedImage, ManifestListRow, ManifestListTable } from '../rows.ts';

interface RawList {
  id: string;
  imageId: string;
  sizeBytes: number;
  isOci: number;
  isAlone: number;
  annotations: string | null;
  names: string;
}

interface RawImage {
  imageId: string;
  annotations: string | null;
  digest: string | null;
  sizeBytes: number | null;
}

/** Lists that no name means any more, though names mean their image. */
const REMOVE_UNNAMED = `DELETE FROM manifest_lists
       WHERE NOT EXISTS (SELECT 1 FROM tags WHERE list = manifest_lists.id)
         AND NOT EXISTS (SELECT 1 FROM image_digests WHERE digest = manifest_lists.id OR list = manifest_lists.id)
         AND (EXISTS (SELECT 1 FROM tags WHERE image_id = manifest_lists.image_id)
           OR EXISTS (SELECT 1 FROM image_digests WHERE image_id = manifest_lists.image_id))
       RETURNING id`;

/** Lists of images. One goes with the image that its names mean. */
export function manifestListTable(
  connection: Sqlite.Database,
  atomically: (change: () => void) => void,
): ManifestListTable {
  const insert = connection.prepare(
    `INSERT INTO manifest_lists (id, image_id, size_bytes, is_oci, is_alone, annotations, names)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  const insertImage = connection.prepare(
    `INSERT INTO manifest_list_images
       (list_id, position, image_id, annotations, attestations, statements_digest, statements_bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (list_id, position) DO NOTHING`,
  );
  const remove = connection.prepare('DELETE FROM manifest_lists WHERE id = ?');
  const attestations = connection
    .prepare<[string, string], string | null>(
      'SELECT attestations FROM manifest_list_images WHERE list_id = ? AND image_id = ?',
    )
    .pluck();
  const removeUnnamed = connection.prepare<[], string>(REMOVE_UNNAMED).pluck();
  const all = connection.prepare<[], RawList>(
    `SELECT id, image_id AS imageId, size_bytes AS sizeBytes, is_oci AS isOci, is_alone AS isAlone, annotations, names
     FROM manifest_lists ORDER BY id`,
  );
  const imagesOf = connection.prepare<[string], RawImage>(
    `SELECT image_id AS imageId, annotations, statements_digest AS digest, statements_bytes AS sizeBytes
     FROM manifest_list_images WHERE list_id = ? ORDER BY position`,
  );
  return {
    insert({ id, imageId, sizeBytes, isOci, isAlone = false, annotations, names, images }, said) {
      atomically(() => {
        named(`insert manifest list ${id}`, () => {
          insert.run(
            id,
            imageId,
            sizeBytes,
            isOci ? 1 : 0,
            isAlone ? 1 : 0,
            textOf(annotations),
            JSON.stringify(names),
          );
          images.forEach(({ imageId: listed, annotations: own, statements }, position) =>
            insertImage.run(
              id,
              position,
              listed,
              textOf(own),
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
    all: () => all.all().map((row) => listOf(row, imagesOf.all(row.id))),
  };
}

function listOf(
  { isOci, isAlone, annotations, names, ...row }: RawList,
  images: readonly RawImage[],
): ManifestListRow {
  return {
    ...row,
    isOci: isOci === 1,
    ...(isAlone === 1 && { isAlone: true }),
    ...annotationsOf(annotations),
    // Written by us alone.
    names: JSON.parse(names) as string[],
    images: images.map((image) => listedImage(image)),
  };
}

function listedImage({ imageId, annotations, digest, sizeBytes }: RawImage): ListedImage {
  return {
    imageId,
    ...annotationsOf(annotations),
    ...(digest !== null && sizeBytes !== null && { statements: { digest, sizeBytes } }),
  };
}

function textOf(annotations: DocumentAnnotations | undefined): string | null {
  return annotations === undefined ? null : JSON.stringify(annotations);
}

function annotationsOf(text: string | null): { annotations?: DocumentAnnotations } {
  // Written by us alone.
  return text === null ? {} : { annotations: JSON.parse(text) as DocumentAnnotations };
}

import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { allDescriptors } from '../../image/descriptor.ts';
import { asObject, parseJson } from '../../image/json.ts';
import { named } from '../errors.ts';
import type {
  DocumentAnnotations,
  ListedImage,
  ManifestListRow,
  ManifestListTable,
  RegistryIndex,
} from '../manifest-list-rows.ts';

interface RawList {
  id: string;
  imageId: string;
  sizeBytes: number;
  isOci: number;
  isAlone: number;
  indexType: string | null;
  annotations: string | null;
  names: string;
}

interface RawImage {
  imageId: string;
  manifest: string | null;
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
  const { insertList, insertListed } = inserts(connection);
  const remove = connection.prepare('DELETE FROM manifest_lists WHERE id = ?');
  const attestations = connection
    .prepare<[string, string], string | null>(
      'SELECT attestations FROM manifest_list_images WHERE list_id = ? AND image_id = ?',
    )
    .pluck();
  const removeUnnamed = connection.prepare<[], string>(REMOVE_UNNAMED).pluck();
  const all = connection.prepare<[], RawList>(
    `SELECT id, image_id AS imageId, size_bytes AS sizeBytes, is_oci AS isOci, is_alone AS isAlone,
       index_type AS indexType, annotations, names
     FROM manifest_lists ORDER BY id`,
  );
  const imagesOf = connection.prepare<[string], RawImage>(
    `SELECT image_id AS imageId, manifest, annotations, statements_digest AS digest, statements_bytes AS sizeBytes
     FROM manifest_list_images WHERE list_id = ? ORDER BY position`,
  );
  const registry = registryParts(connection, atomically);
  return {
    insert(row, said) {
      const { id, images } = row;
      atomically(() => {
        named(`insert manifest list ${id}`, () => {
          insertList(row);
          images.forEach((listed, position) => insertListed(id, position, listed, said[position] ?? null));
        });
        failpoint('database.manifest-list.insert');
      });
    },
    ...registry,
    remove(id) {
      named(`remove manifest list ${id}`, () => remove.run(id));
      failpoint('database.manifest-list.remove');
    },
    attestations: (id, imageId) => attestations.get(id, imageId) ?? undefined,
    removeUnnamed: () => named('remove manifest lists without a name', () => removeUnnamed.all()),
    all: () =>
      all
        .all()
        .map((row) => listOf(row, imagesOf.all(row.id), (digest) => registry.document(row.id, digest))),
  };
}

/** What lists of registries have besides: their documents. */
function registryParts(
  connection: Sqlite.Database,
  atomically: (change: () => void) => void,
): Pick<ManifestListTable, 'join' | 'leave' | 'document'> {
  const { insertList, insertListed } = inserts(connection);
  const insertDocument = connection.prepare(
    'INSERT INTO manifest_documents (list_id, digest, bytes) VALUES (?, ?, ?) ON CONFLICT (list_id, digest) DO NOTHING',
  );
  const removeImage = connection.prepare(
    'DELETE FROM manifest_list_images WHERE list_id = ? AND image_id = ?',
  );
  const setImage = connection.prepare('UPDATE manifest_lists SET image_id = ? WHERE id = ?');
  const document = connection
    .prepare<[string, string], Buffer>(
      'SELECT bytes FROM manifest_documents WHERE list_id = ? AND digest = ?',
    )
    .pluck();
  return {
    join(row, listed, documents) {
      const { id, index } = row;
      const position = index?.manifests.findIndex(({ digest }) => digest === listed.manifest) ?? -1;
      atomically(() => {
        named(`join manifest list ${id}`, () => {
          insertList(row);
          insertListed(id, position, listed, null);
          documents.forEach((bytes, digest) => insertDocument.run(id, digest, bytes));
        });
        failpoint('database.manifest-list.join');
      });
    },
    leave({ id, imageId }, leaving) {
      named(`leave manifest list ${id}`, () => {
        setImage.run(imageId, id);
        removeImage.run(id, leaving);
      });
      failpoint('database.manifest-list.leave');
    },
    document: (id, digest) => document.get(id, digest),
  };
}

/** One row each. */
function inserts(connection: Sqlite.Database): {
  insertList: (row: ManifestListRow) => void;
  insertListed: (id: string, position: number, listed: ListedImage, said: string | null) => void;
} {
  const insert = connection.prepare(
    `INSERT INTO manifest_lists (id, image_id, size_bytes, is_oci, is_alone, index_type, annotations, names)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET image_id = excluded.image_id`,
  );
  const insertImage = connection.prepare(
    `INSERT INTO manifest_list_images
       (list_id, position, image_id, manifest, annotations, attestations, statements_digest, statements_bytes)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (list_id, position) DO UPDATE
     SET statements_digest = excluded.statements_digest, statements_bytes = excluded.statements_bytes`,
  );
  const insertList = (row: ManifestListRow): void => {
    const { id, imageId, sizeBytes, isOci, isAlone = false, index, annotations, names } = row;
    const [oci, alone] = [isOci ? 1 : 0, isAlone ? 1 : 0];
    const more = [index?.mediaType ?? null, textOf(annotations), JSON.stringify(names)];
    insert.run(id, imageId, sizeBytes, oci, alone, ...more);
  };
  const insertListed = (id: string, position: number, listed: ListedImage, said: string | null): void => {
    const { imageId, manifest = null, annotations, statements } = listed;
    const [digest, sizeBytes] = [statements?.digest ?? null, statements?.sizeBytes ?? null];
    insertImage.run(id, position, imageId, manifest, textOf(annotations), said, digest, sizeBytes);
  };
  return { insertList, insertListed };
}

function listOf(
  { isOci, isAlone, indexType, annotations, names, ...row }: RawList,
  images: readonly RawImage[],
  read: (digest: string) => Buffer | undefined,
): ManifestListRow {
  const index = indexType === null ? undefined : read(row.id);
  return {
    ...row,
    isOci: isOci === 1,
    ...(isAlone === 1 && { isAlone: true }),
    // It was read before it was written.
    ...(indexType !== null && index !== undefined && { index: registryIndex(indexType, index) }),
    ...annotationsOf(annotations),
    // Written by us alone.
    names: JSON.parse(names) as string[],
    images: images.map((image) => listedImage(image)),
  };
}

function registryIndex(mediaType: string, bytes: Buffer): RegistryIndex {
  const where = 'an index of a registry';
  return { mediaType, manifests: allDescriptors(asObject(parseJson(bytes, where), where), where) };
}

function listedImage({ imageId, manifest, annotations, digest, sizeBytes }: RawImage): ListedImage {
  return {
    imageId,
    ...(manifest !== null && { manifest }),
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

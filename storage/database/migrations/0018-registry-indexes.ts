import type { Migration } from '../migrate.ts';

/**
 * Lists as registries have them, of which some images are here. The index, the manifests of these images and what is
 * said of them are kept as they came.
 */
export const registryIndexes: Migration = {
  number: 18,
  name: 'indexes of registries',
  sql: `
    ALTER TABLE manifest_lists ADD COLUMN index_type TEXT;
    ALTER TABLE manifest_list_images ADD COLUMN manifest TEXT;

    CREATE TABLE manifest_documents (
      list_id TEXT NOT NULL REFERENCES manifest_lists (id) ON DELETE CASCADE,
      digest TEXT NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (list_id, digest)
    ) STRICT;
  `,
};

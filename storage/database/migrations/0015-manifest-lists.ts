import type { Migration } from '../migrate.ts';

/**
 * Several images under one name, and what is said of them. A list goes with the image that its names mean where no
 * platform is asked for. `tags.list` names a list that is there, or none.
 */
export const manifestLists: Migration = {
  number: 15,
  name: 'manifest lists',
  sql: `
    CREATE TABLE manifest_lists (
      id TEXT PRIMARY KEY,
      image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
      size_bytes INTEGER NOT NULL,
      is_oci INTEGER NOT NULL,
      names TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX manifest_lists_image ON manifest_lists (image_id);

    CREATE TABLE manifest_list_images (
      list_id TEXT NOT NULL REFERENCES manifest_lists (id) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
      attestations TEXT,
      statements_digest TEXT,
      statements_bytes INTEGER,
      PRIMARY KEY (list_id, position)
    ) STRICT;
    CREATE INDEX manifest_list_images_image ON manifest_list_images (image_id);

    ALTER TABLE tags ADD COLUMN list TEXT;
    CREATE INDEX tags_list ON tags (list);
  `,
};

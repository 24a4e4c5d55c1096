import type { Migration } from '../migrate.ts';

/** What registries call images and layers: digests of manifests in repositories, blobs that hold layers. */
export const registries: Migration = {
  number: 3,
  name: 'registries',
  sql: `
    CREATE TABLE image_digests (
      repository TEXT NOT NULL,
      digest TEXT NOT NULL,
      image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
      PRIMARY KEY (repository, digest)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX image_digests_image ON image_digests (image_id);

    CREATE TABLE layer_blobs (
      layer_id INTEGER NOT NULL REFERENCES layers (id) ON DELETE CASCADE,
      repository TEXT NOT NULL,
      digest TEXT NOT NULL,
      size_bytes INTEGER NOT NULL,
      PRIMARY KEY (layer_id, repository)
    ) STRICT, WITHOUT ROWID;
  `,
};

import type { Migration } from '../migrate.ts';

/** What images were made from on this engine, and by which step of a build. */
export const imageParents: Migration = {
  number: 4,
  name: 'image parents',
  sql: `
    CREATE TABLE image_parents (
      image_id TEXT PRIMARY KEY REFERENCES images (id) ON DELETE CASCADE,
      parent_id TEXT NOT NULL,
      step_key TEXT
    ) STRICT, WITHOUT ROWID;
  `,
};

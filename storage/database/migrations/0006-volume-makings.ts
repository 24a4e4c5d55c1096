import type { Migration } from '../migrate.ts';

/** Volumes that a plugin was asked to make under a name that this engine invented: no client knows the name. */
export const volumeMakings: Migration = {
  number: 6,
  name: 'volume makings',
  sql: `
    CREATE TABLE volume_makings (
      volume TEXT PRIMARY KEY,
      driver TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};

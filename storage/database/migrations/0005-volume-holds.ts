import type { Migration } from '../migrate.ts';

/** The containers that a plugin's volume was mounted for: only the plugin knows them, and it cannot be asked. */
export const volumeHolds: Migration = {
  number: 5,
  name: 'volume holds',
  sql: `
    CREATE TABLE volume_holds (
      volume TEXT NOT NULL REFERENCES volumes (name) ON DELETE CASCADE,
      holder TEXT NOT NULL,
      mountpoint TEXT NOT NULL,
      PRIMARY KEY (volume, holder)
    ) STRICT, WITHOUT ROWID;
  `,
};

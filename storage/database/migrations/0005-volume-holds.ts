import type { Migration } from '../migrate.ts';

/** Who a volume of a plugin was mounted for: nobody but the plugin could tell, and it does not. */
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

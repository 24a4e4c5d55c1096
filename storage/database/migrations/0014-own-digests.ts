import type { Migration } from '../migrate.ts';

/** Digests that images were given here, by builds: no registry is known to have them. */
export const ownDigests: Migration = {
  number: 14,
  name: 'digests of our own',
  sql: `
    ALTER TABLE image_digests ADD COLUMN is_own INTEGER NOT NULL DEFAULT 0;
  `,
};

import type { Migration } from '../migrate.ts';

/** A digest may mean a list, as a tag may: what a push of it is called differs from its id. */
export const digestsOfLists: Migration = {
  number: 17,
  name: 'digests of lists',
  sql: `
    ALTER TABLE image_digests ADD COLUMN list TEXT;
    CREATE INDEX image_digests_list ON image_digests (list);
  `,
};

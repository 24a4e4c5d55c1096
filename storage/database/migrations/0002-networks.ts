import type { Migration } from '../migrate.ts';

/** Networks made by users. The built-in ones are facts of the root (`meta`); members stand with the containers. */
export const networks: Migration = {
  number: 2,
  name: 'networks',
  sql: `
    CREATE TABLE networks (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      driver TEXT NOT NULL,
      created_nano INTEGER NOT NULL,
      spec TEXT NOT NULL
    ) STRICT;
  `,
};

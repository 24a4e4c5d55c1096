import type { Migration } from '../migrate.ts';

/**
 * The cluster interface: its records, as those of the hub, and its events. An event is JSON without its resource
 * version, which is the revision.
 */
export const cluster: Migration = {
  number: 11,
  name: 'cluster',
  sql: `
    CREATE TABLE cluster_records (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE cluster_events (
      key TEXT PRIMARY KEY,
      body TEXT NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};

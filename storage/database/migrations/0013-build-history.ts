import type { Migration } from '../migrate.ts';

/**
 * Builds that have ended, and what belongs to each: its log, its provenance, its trace. `data` is last: what only asks
 * for sizes does not read it.
 */
export const buildHistory: Migration = {
  number: 13,
  name: 'build history',
  sql: `
    CREATE TABLE build_history (
      ref TEXT PRIMARY KEY,
      completed_ms INTEGER NOT NULL,
      is_pinned INTEGER NOT NULL,
      size_bytes INTEGER NOT NULL,
      record TEXT NOT NULL
    ) STRICT;

    CREATE TABLE build_history_blobs (
      id INTEGER PRIMARY KEY,
      digest TEXT NOT NULL,
      ref TEXT NOT NULL REFERENCES build_history (ref) ON DELETE CASCADE,
      size_bytes INTEGER NOT NULL,
      data BLOB NOT NULL,
      UNIQUE (digest, ref)
    ) STRICT;
    CREATE INDEX build_history_blobs_of_ref ON build_history_blobs (ref);
  `,
};

import type { Migration } from '../migrate.ts';

/** What builds made and the next ones take: results of operations, and directories of cache mounts. */
export const buildRecords: Migration = {
  number: 12,
  name: 'build records',
  sql: `
    CREATE TABLE build_records (
      id TEXT PRIMARY KEY,
      key TEXT NOT NULL UNIQUE,
      type TEXT NOT NULL,
      layer_id INTEGER REFERENCES layers (id),
      size_bytes INTEGER NOT NULL,
      created_ms INTEGER NOT NULL,
      last_used_ms INTEGER NOT NULL,
      usage_count INTEGER NOT NULL,
      description TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX build_records_layer ON build_records (layer_id);

    CREATE TABLE build_content_keys (
      definition_key TEXT PRIMARY KEY,
      content_key TEXT NOT NULL REFERENCES build_records (key) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX build_content_keys_content ON build_content_keys (content_key);
  `,
};

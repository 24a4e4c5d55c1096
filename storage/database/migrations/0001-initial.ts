import type { Migration } from '../migrate.ts';

/** The first schema. Drawn and explained in storage/README.md. Never edited: a change is a new file. */
export const initial: Migration = {
  number: 1,
  name: 'initial',
  sql: `
    CREATE TABLE meta (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE layers (
      id INTEGER PRIMARY KEY,
      diff_id TEXT NOT NULL,
      chain_id TEXT NOT NULL UNIQUE,
      parent_id INTEGER REFERENCES layers (id),
      size_bytes INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX layers_parent ON layers (parent_id);

    CREATE TABLE layer_counter (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      last_id INTEGER NOT NULL
    ) STRICT;
    INSERT INTO layer_counter (only, last_id) VALUES (1, 0);

    CREATE TABLE images (
      id TEXT PRIMARY KEY,
      config BLOB NOT NULL,
      created_nano INTEGER NOT NULL,
      last_tagged_nano INTEGER,
      size_bytes INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE image_layers (
      image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      layer_id INTEGER NOT NULL REFERENCES layers (id),
      PRIMARY KEY (image_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX image_layers_layer ON image_layers (layer_id);

    CREATE TABLE tags (
      repository TEXT NOT NULL,
      tag TEXT NOT NULL,
      image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
      PRIMARY KEY (repository, tag)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX tags_image ON tags (image_id);

    CREATE TABLE containers (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      image_id TEXT NOT NULL,
      created_nano INTEGER NOT NULL,
      spec TEXT NOT NULL
    ) STRICT;

    CREATE TABLE container_states (
      container_id TEXT PRIMARY KEY REFERENCES containers (id) ON DELETE CASCADE,
      state TEXT NOT NULL
    ) STRICT;

    CREATE TABLE container_layers (
      container_id TEXT NOT NULL REFERENCES containers (id) ON DELETE CASCADE,
      position INTEGER NOT NULL,
      layer_id INTEGER NOT NULL REFERENCES layers (id),
      PRIMARY KEY (container_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX container_layers_layer ON container_layers (layer_id);

    CREATE TABLE volumes (
      name TEXT PRIMARY KEY,
      driver TEXT NOT NULL,
      options TEXT NOT NULL,
      labels TEXT NOT NULL,
      anonymous INTEGER NOT NULL,
      created_nano INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE events (
      id INTEGER PRIMARY KEY,
      time_nano INTEGER NOT NULL,
      type TEXT NOT NULL,
      action TEXT NOT NULL,
      actor_id TEXT NOT NULL,
      attributes TEXT NOT NULL
    ) STRICT;
    CREATE INDEX events_time ON events (time_nano);

    CREATE TABLE quarantine (
      id INTEGER PRIMARY KEY,
      table_name TEXT NOT NULL,
      row_key TEXT NOT NULL,
      reason TEXT NOT NULL,
      content TEXT NOT NULL,
      found_at TEXT NOT NULL
    ) STRICT;
  `,
};

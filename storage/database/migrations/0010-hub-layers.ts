import type { Migration } from '../migrate.ts';

/** Layers of the engine that the registry of the hub serves as they are: the digest is that of the layer's tar. */
export const hubLayers: Migration = {
  number: 10,
  name: 'hub layers',
  sql: `
    CREATE TABLE hub_layers (
      digest TEXT PRIMARY KEY,
      layer_id INTEGER NOT NULL REFERENCES layers (id),
      size_bytes INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX hub_layers_layer ON hub_layers (layer_id);
  `,
};

import type { Migration } from '../migrate.ts';

/**
 * Deliveries of webhooks (daemon/hub/deliveries/delivery.ts). Ids are never given again: clients keep them. `body` is
 * last: lists do not read it.
 */
export const hubDeliveries: Migration = {
  number: 9,
  name: 'hub deliveries',
  sql: `
    CREATE TABLE hub_deliveries (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      attempt TEXT NOT NULL UNIQUE,
      hook INTEGER NOT NULL,
      delivered_ms INTEGER NOT NULL,
      code INTEGER NOT NULL,
      size_bytes INTEGER NOT NULL,
      summary TEXT NOT NULL,
      body BLOB NOT NULL
    ) STRICT;
    CREATE INDEX hub_deliveries_of_hook ON hub_deliveries (hook, id);
    CREATE INDEX hub_deliveries_in_time ON hub_deliveries (delivered_ms, size_bytes);
  `,
};

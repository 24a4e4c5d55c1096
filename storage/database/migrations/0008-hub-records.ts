import type { Migration } from '../migrate.ts';

/** Records of the hub (daemon/hub/records/port.ts). `revision` is the number of the update that wrote the row. */
export const hubRecords: Migration = {
  number: 8,
  name: 'hub records',
  sql: `
    CREATE TABLE hub_records (
      key TEXT NOT NULL PRIMARY KEY,
      value TEXT NOT NULL,
      revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};

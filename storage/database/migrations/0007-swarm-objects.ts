import type { Migration } from '../migrate.ts';

/** Objects of the swarm that clients of this manager have been told of, so that it can tell which are gone. */
export const swarmObjects: Migration = {
  number: 7,
  name: 'swarm objects',
  sql: `
    CREATE TABLE swarm_objects (
      type TEXT NOT NULL,
      id TEXT NOT NULL,
      name TEXT NOT NULL,
      PRIMARY KEY (type, id)
    ) STRICT, WITHOUT ROWID;
  `,
};

import { randomUUID } from 'node:crypto';
import type { Database } from '../../storage/database/rows.ts';

const KEY = 'engine-id';

/** The id of this engine, made once for a data root: `ID` of `/info`, and the actor of daemon events. */
export function engineId(database: Pick<Database, 'meta' | 'transaction'>): string {
  const known = database.meta.get(KEY);
  if (known !== undefined) {
    return known;
  }
  const id = randomUUID();
  database.transaction(() => database.meta.set(KEY, id), { durable: true });
  return id;
}

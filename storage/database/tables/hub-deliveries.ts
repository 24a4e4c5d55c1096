import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { HubDeliveryListed, HubDeliveryRow, HubDeliveryTable } from '../rows.ts';

export function hubDeliveryTable(connection: Sqlite.Database): HubDeliveryTable {
  const insert = connection.prepare(
    'INSERT OR IGNORE INTO hub_deliveries (attempt, hook, delivered_ms, code, size_bytes, summary, body) ' +
      'VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  const has = connection.prepare<[string], 1>('SELECT 1 FROM hub_deliveries WHERE attempt = ?').pluck();
  const list = connection.prepare<[number, number, number, number, number], HubDeliveryListed>(
    'SELECT id, summary FROM hub_deliveries ' +
      'WHERE hook = ? AND id <= ? AND code >= ? AND code <= ? ORDER BY id DESC LIMIT ?',
  );
  const newer = connection
    .prepare<[number, number, number, number, number], number>(
      'SELECT id FROM hub_deliveries WHERE hook = ? AND id > ? AND code >= ? AND code <= ? ORDER BY id LIMIT ?',
    )
    .pluck();
  const get = connection.prepare<[number, number], HubDeliveryListed & { body: Buffer }>(
    'SELECT id, summary, body FROM hub_deliveries WHERE hook = ? AND id = ?',
  );
  const cleared = connection.prepare('DELETE FROM hub_deliveries');
  const pruned = pruning(connection);
  return {
    insert(row: HubDeliveryRow) {
      const { attempt, hook, deliveredMs, code, summary, body } = row;
      const size = Buffer.byteLength(summary) + body.length;
      named(`delivery ${attempt}`, () => insert.run(attempt, hook, deliveredMs, code, size, summary, body));
      failpoint('database.hubdelivery.insert');
    },
    has: (attempt) => has.get(attempt) !== undefined,
    list: ({ hook, from, codes: [least, most], limit }) => list.all(hook, from, least, most, limit),
    newer: ({ hook, than, codes: [least, most], limit }) => newer.all(hook, than, least, most, limit),
    get: (hook, id) => get.get(hook, id),
    clear() {
      named('clear deliveries', () => cleared.run());
    },
    prune(bounds) {
      named('prune deliveries', () => pruned(bounds));
      failpoint('database.hubdelivery.prune');
    },
  };
}

/** Removes what is past the bounds, at most `limit` rows for each of them. */
function pruning(connection: Sqlite.Database): HubDeliveryTable['prune'] {
  const old = connection.prepare(
    'DELETE FROM hub_deliveries WHERE id IN ' +
      '(SELECT id FROM hub_deliveries WHERE delivered_ms < ? ORDER BY delivered_ms LIMIT ?)',
  );
  const busy = connection
    .prepare<[number], number>('SELECT hook FROM hub_deliveries GROUP BY hook HAVING count(*) > ?')
    .pluck();
  const ofHook = connection.prepare(
    'DELETE FROM hub_deliveries WHERE id IN (SELECT id FROM hub_deliveries WHERE hook = ? AND id <= ' +
      '(SELECT id FROM hub_deliveries WHERE hook = ? ORDER BY id DESC LIMIT 1 OFFSET ?) ORDER BY id LIMIT ?)',
  );
  const total = connection.prepare<[], number | null>('SELECT sum(size_bytes) FROM hub_deliveries').pluck();
  const oldest = connection.prepare<[number], { id: number; size: number }>(
    'SELECT id, size_bytes AS size FROM hub_deliveries ORDER BY delivered_ms LIMIT ?',
  );
  const remove = connection.prepare('DELETE FROM hub_deliveries WHERE id = ?');
  return ({ beforeMs, keepOfHook, keepBytes, limit }) => {
    old.run(beforeMs, limit);
    for (const hook of busy.all(keepOfHook)) {
      ofHook.run(hook, hook, keepOfHook, limit);
    }
    let tooMuch = (total.get() ?? 0) - keepBytes;
    for (const { id, size } of tooMuch > 0 ? oldest.all(limit) : []) {
      if (tooMuch <= 0) {
        break;
      }
      remove.run(id);
      tooMuch -= size;
    }
  };
}

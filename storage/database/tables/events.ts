import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import { decodeStringMap, encodeJson } from '../json.ts';
import type { Quarantine } from '../quarantine.ts';
import type { EventTable } from '../rows.ts';

interface RawEvent {
  id: bigint;
  timeNano: bigint;
  type: string;
  action: string;
  actorId: string;
  attributes: string;
}

const NANO_MAX = 2n ** 63n - 1n;

/** Events in the order of their commits. */
export function eventTable(connection: Sqlite.Database, quarantine: Quarantine): EventTable {
  const insert = connection.prepare(
    'INSERT INTO events (time_nano, type, action, actor_id, attributes) VALUES (?, ?, ?, ?, ?)',
  );
  // The unary plus keeps SQLite from walking the index of times and sorting: pages are read in the order of ids.
  const page = connection
    .prepare<[number | bigint, bigint, bigint, number], RawEvent>(
      `SELECT id, time_nano AS timeNano, type, action, actor_id AS actorId, attributes FROM events
       WHERE id > ? AND +time_nano >= ? AND +time_nano <= ? ORDER BY id LIMIT ?`,
    )
    .safeIntegers(true);
  const firstIdSince = connection
    .prepare<[bigint], bigint | null>('SELECT min(+id) FROM events WHERE time_nano >= ?')
    .pluck()
    .safeIntegers(true);
  const lastId = connection.prepare<[], number | null>('SELECT max(id) FROM events').pluck();
  const prune = connection.prepare('DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?');

  return {
    insert(row) {
      const { timeNano, type, action, actorId, attributes } = row;
      const result = named(`insert event ${type} ${action}`, () =>
        insert.run(timeNano, type, action, actorId, encodeJson(attributes)),
      );
      failpoint('database.event.insert');
      return Number(result.lastInsertRowid);
    },
    range({ sinceNano = 0n, untilNano = NANO_MAX, afterId, limit }) {
      const first = afterId === undefined ? firstIdSince.get(sinceNano) : undefined;
      if (first === null) {
        return [];
      }
      const after = afterId ?? (first ?? 1n) - 1n;
      return quarantine.decodeAll(
        'events',
        page.all(after, sinceNano, untilNano, limit),
        (raw) => raw.id,
        (raw) => ({ ...raw, id: Number(raw.id), attributes: decodeStringMap(raw.attributes) }),
      );
    },
    lastId: () => lastId.get() ?? 0,
    prune(keep) {
      named('prune events', () => prune.run(keep));
      failpoint('database.event.prune');
    },
  };
}

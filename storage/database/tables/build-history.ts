import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { BuildHistoryBlobRow, BuildHistoryRow, BuildHistoryTable } from '../rows.ts';

export function buildHistoryTable(
  connection: Sqlite.Database,
  atomically: (change: () => void) => void,
): BuildHistoryTable {
  const insert = connection.prepare(
    'INSERT INTO build_history (ref, completed_ms, is_pinned, size_bytes, record) VALUES (?, ?, ?, ?, ?)',
  );
  const insertBlob = connection.prepare(
    'INSERT OR IGNORE INTO build_history_blobs (digest, ref, size_bytes, data) VALUES (?, ?, ?, ?)',
  );
  const pin = connection.prepare('UPDATE build_history SET is_pinned = ?, record = ? WHERE ref = ?');
  const remove = connection.prepare('DELETE FROM build_history WHERE ref = ?');
  const record = connection
    .prepare<[string], string>('SELECT record FROM build_history WHERE ref = ?')
    .pluck();
  // What is damaged is as good as gone: it says nothing that the engine needs.
  const records = connection
    .prepare<[], string>(
      'SELECT record FROM build_history WHERE json_valid(record) ORDER BY completed_ms, ref',
    )
    .pluck();
  const sizes = connection.prepare<[], Omit<BuildHistoryRow, 'record' | 'isPinned'> & { isPinned: number }>(
    'SELECT ref, completed_ms AS completedMs, is_pinned AS isPinned, size_bytes AS sizeBytes FROM build_history',
  );
  const blob = connection.prepare<[string], BuildHistoryBlobRow>(
    'SELECT digest, size_bytes AS sizeBytes, data FROM build_history_blobs WHERE digest = ? LIMIT 1',
  );
  const blobSize = connection
    .prepare<[string], number>('SELECT size_bytes FROM build_history_blobs WHERE digest = ? LIMIT 1')
    .pluck();
  return {
    put({ ref, completedMs, isPinned, sizeBytes, record: text }, blobs) {
      named(`keep build ${ref}`, () =>
        atomically(() => {
          remove.run(ref);
          insert.run(ref, completedMs, Number(isPinned), sizeBytes, text);
          failpoint('database.buildhistory.insert');
          blobs.forEach(({ digest, sizeBytes: size, data }) => insertBlob.run(digest, ref, size, data));
        }),
      );
    },
    pin(ref, { isPinned, record: text }) {
      named(`pin build ${ref}`, () =>
        atomically(() => {
          pin.run(Number(isPinned), text, ref);
          failpoint('database.buildhistory.pin');
        }),
      );
    },
    remove(ref) {
      let changes = 0;
      named(`remove build ${ref}`, () =>
        atomically(() => {
          ({ changes } = remove.run(ref));
          failpoint('database.buildhistory.remove');
        }),
      );
      return changes > 0;
    },
    record: (ref) => record.get(ref),
    records: () => records.all(),
    sizes: () => sizes.all().map((row) => ({ ...row, isPinned: row.isPinned !== 0 })),
    blob: (digest) => blob.get(digest),
    blobSize: (digest) => blobSize.get(digest),
  };
}

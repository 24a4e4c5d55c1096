import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import { decodeStringMap, encodeJson } from '../json.ts';
import type { Quarantine } from '../quarantine.ts';
import type { VolumeTable } from '../rows.ts';

interface RawVolume {
  name: string;
  driver: string;
  options: string;
  labels: string;
  anonymous: bigint;
  createdNano: bigint;
}

export function volumeTable(connection: Sqlite.Database, quarantine: Quarantine): VolumeTable {
  const insert = connection.prepare(
    'INSERT INTO volumes (name, driver, options, labels, anonymous, created_nano) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const remove = connection.prepare('DELETE FROM volumes WHERE name = ?');
  const all = connection
    .prepare<[], RawVolume>(
      'SELECT name, driver, options, labels, anonymous, created_nano AS createdNano FROM volumes ORDER BY name',
    )
    .safeIntegers(true);
  return {
    insert(row) {
      const { name, driver, options, labels, anonymous, createdNano } = row;
      named(`insert volume ${name}`, () =>
        insert.run(name, driver, encodeJson(options), encodeJson(labels), anonymous ? 1 : 0, createdNano),
      );
      failpoint('database.volume.insert');
    },
    remove(name) {
      named(`remove volume ${name}`, () => remove.run(name));
      failpoint('database.volume.remove');
    },
    all: () =>
      quarantine.decodeAll(
        'volumes',
        all.all(),
        (raw) => raw.name,
        (raw) => ({
          ...raw,
          options: decodeStringMap(raw.options),
          labels: decodeStringMap(raw.labels),
          anonymous: raw.anonymous !== 0n,
        }),
      ),
  };
}

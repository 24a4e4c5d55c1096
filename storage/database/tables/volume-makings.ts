import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { VolumeMakingRow, VolumeMakingTable } from '../rows.ts';

export function volumeMakingTable(connection: Sqlite.Database): VolumeMakingTable {
  const add = connection.prepare('INSERT OR REPLACE INTO volume_makings (volume, driver) VALUES (?, ?)');
  const remove = connection.prepare('DELETE FROM volume_makings WHERE volume = ?');
  const all = connection.prepare<[], VolumeMakingRow>('SELECT volume, driver FROM volume_makings');
  return {
    add({ volume, driver }) {
      named(`make volume ${volume}`, () => add.run(volume, driver));
      failpoint('database.volumemaking.add');
    },
    remove(volume) {
      named(`volume ${volume}`, () => remove.run(volume));
      failpoint('database.volumemaking.remove');
    },
    all: () => all.all(),
  };
}

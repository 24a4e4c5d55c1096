import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { VolumeHoldRow, VolumeHoldTable } from '../rows.ts';

export function volumeHoldTable(connection: Sqlite.Database): VolumeHoldTable {
  const set = connection.prepare(
    'INSERT OR REPLACE INTO volume_holds (volume, holder, mountpoint) VALUES (?, ?, ?)',
  );
  const remove = connection.prepare('DELETE FROM volume_holds WHERE volume = ? AND holder = ?');
  const all = connection.prepare<[], VolumeHoldRow>('SELECT volume, holder, mountpoint FROM volume_holds');
  return {
    set({ volume, holder, mountpoint }) {
      named(`hold volume ${volume}`, () => set.run(volume, holder, mountpoint));
      failpoint('database.volumehold.set');
    },
    remove(volume, holder) {
      named(`release volume ${volume}`, () => remove.run(volume, holder));
      failpoint('database.volumehold.remove');
    },
    all: () => all.all(),
  };
}

import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { ImageParentRow, ImageParentTable } from '../rows.ts';

/** What images were made from. The row goes with its image. */
export function imageParentTable(connection: Sqlite.Database): ImageParentTable {
  const set = connection.prepare(
    `INSERT INTO image_parents (image_id, parent_id, step_key) VALUES (?, ?, ?)
     ON CONFLICT (image_id) DO UPDATE SET parent_id = excluded.parent_id, step_key = excluded.step_key`,
  );
  const all = connection.prepare<[], ImageParentRow>(
    'SELECT image_id AS imageId, parent_id AS parentId, step_key AS stepKey FROM image_parents ORDER BY image_id',
  );
  return {
    set({ imageId, parentId, stepKey }) {
      named(`set parent of image ${imageId}`, () => set.run(imageId, parentId, stepKey));
      failpoint('database.image.parent');
    },
    all: () => all.all(),
  };
}

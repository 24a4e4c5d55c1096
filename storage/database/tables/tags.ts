import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { TagRow, TagTable } from '../rows.ts';

/** Names of images. A tag names one image; setting it again moves it. */
export function tagTable(connection: Sqlite.Database): TagTable {
  const set = connection.prepare(
    `INSERT INTO tags (repository, tag, image_id) VALUES (?, ?, ?)
     ON CONFLICT (repository, tag) DO UPDATE SET image_id = excluded.image_id`,
  );
  const remove = connection.prepare('DELETE FROM tags WHERE repository = ? AND tag = ?');
  const all = connection.prepare<[], TagRow>(
    'SELECT repository, tag, image_id AS imageId FROM tags ORDER BY repository, tag',
  );
  return {
    set(row) {
      named(`set tag ${row.repository}:${row.tag}`, () => set.run(row.repository, row.tag, row.imageId));
      failpoint('database.tag.set');
    },
    remove(repository, tag) {
      named(`remove tag ${repository}:${tag}`, () => remove.run(repository, tag));
      failpoint('database.tag.remove');
    },
    all: () => all.all(),
  };
}

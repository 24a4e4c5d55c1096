import type Sqlite from 'better-sqlite3';
import { failpoint } from '../../../daemon/base/failpoint.ts';
import { named } from '../errors.ts';
import type { TagRow, TagTable } from '../rows.ts';

/** Names of images. A tag names one image; setting it again moves it. */
export function tagTable(connection: Sqlite.Database): TagTable {
  const set = connection.prepare(
    `INSERT INTO tags (repository, tag, image_id, list) VALUES (?, ?, ?, ?)
     ON CONFLICT (repository, tag) DO UPDATE SET image_id = excluded.image_id, list = excluded.list`,
  );
  const remove = connection.prepare('DELETE FROM tags WHERE repository = ? AND tag = ?');
  const all = connection.prepare<[], Omit<TagRow, 'list'> & { list: string | null }>(
    'SELECT repository, tag, image_id AS imageId, list FROM tags ORDER BY repository, tag',
  );
  return {
    set(row) {
      named(`set tag ${row.repository}:${row.tag}`, () =>
        set.run(row.repository, row.tag, row.imageId, row.list ?? null),
      );
      failpoint('database.tag.set');
    },
    remove(repository, tag) {
      named(`remove tag ${repository}:${tag}`, () => remove.run(repository, tag));
      failpoint('database.tag.remove');
    },
    all: () => all.all().map(({ list, ...row }) => (list === null ? row : { ...row, list })),
  };
}

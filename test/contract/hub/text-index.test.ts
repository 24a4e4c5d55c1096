import { expect, test } from 'vitest';
import { TextIndex } from '../../../storage/database/text-index.ts';

test('the text index finds words, their starts and other cases of them, best first', () => {
  using index = new TextIndex();
  index.put(1, { title: 'Backups', names: 'backup\nrestic', text: 'How to keep a copy of a database' });
  index.put(2, { title: 'Databases', names: 'development/database', text: 'Postgres and the café' });
  index.put(3, { title: 'Other', names: '', text: 'nothing of it' });
  const rows: readonly (readonly [string, number[]])[] = [
    ['database', [2, 1]],
    ['DATA', [2, 1]],
    ['copy database', [1]],
    ['cafe', [2]],
    ['development/database', [2]],
    ['absent', []],
    ['', []],
    ['*', []],
    ['" OR title:', []],
    ['NEAR(a b)', []],
    ['restic -backup', [1]],
    ['"back', [1]],
    ['it', [3]],
  ];
  for (const [query, found] of rows) {
    expect([query, index.find(query.split(' '), 10)]).toEqual([query, found]);
  }
  expect(index.find(['database'], 1)).toEqual([2]);
  index.put(2, { title: 'Gone', names: '', text: 'elsewhere' });
  index.remove(3);
  index.remove(99);
  expect([index.find(['database'], 10), index.find(['elsewhere'], 10), index.find(['it'], 10)]).toEqual([
    [1],
    [2],
    [],
  ]);
});

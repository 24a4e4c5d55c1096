import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

/** The tables of `test/complaints.md`: their last column names tests, which have to be there. */
const ROOT = path.resolve(import.meta.dirname, '..');
const rows = readFileSync(path.join(ROOT, 'complaints.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (issues|attack) \|/.test(line))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));

describe('complaints and attacks', () => {
  test.each(rows)('%s: is shown by tests that are there', (...cells) => {
    const named = (cells.at(-1) ?? '').split('<br>').map((text) => text.trim());
    expect(named.filter((text) => !isThere(text))).toEqual([]);
  });
});

/** `` `FILE`: TITLE ``, the title as it stands in the file. */
function isThere(text: string): boolean {
  const [, file = '', title = ''] = /^`([\w/.-]+\.test\.ts)`: (.+)$/.exec(text) ?? [];
  const where = path.join(ROOT, file);
  return file !== '' && existsSync(where) && titlesIn(readFileSync(where, 'utf8')).has(title);
}

function titlesIn(source: string): Set<string> {
  return new Set([...source.matchAll(/(['"`])((?:(?!\1).)+)\1/g)].flatMap(([, , title = '']) => title));
}

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');

/** Rows of the tables of a page below `test/`, each as its cells; heads and rules of tables are none. */
export function rowsOf(page: string): string[][] {
  const lines = readFileSync(path.join(ROOT, page), 'utf8').split('\n');
  return lines
    .filter((line, at) => line.startsWith('| ') && lines[at + 1]?.startsWith('|---') !== true)
    .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()));
}

/** Of the tests in a row's last cell, those that are not there. */
export function missingIn(row: readonly string[]): string[] {
  const named = (row.at(-1) ?? '').split('<br>').map((text) => text.trim());
  return named.filter((text) => !isThere(text));
}

/** `` `FILE`: TITLE ``: the title as it stands in the file, of a test or of a row of a table of tests. */
function isThere(text: string): boolean {
  const [, file = '', title = ''] = /^`([\w/.-]+\.ts)`: (.+)$/.exec(text) ?? [];
  const where = path.join(ROOT, file);
  if (file === '' || !existsSync(where)) {
    return false;
  }
  const source = readFileSync(where, 'utf8');
  return ["'", '"', '`'].some((quote) => source.includes(quote + title + quote));
}

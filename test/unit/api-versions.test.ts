import { describe, expect, test } from 'vitest';
import { NEWEST, OLDEST } from '../../api/versions/version.ts';
import { missingIn, rowsOf } from '../support/named-tests.ts';

/** The table of `test/api-versions.md`: its last column names tests, which have to be there. */
const rows = rowsOf('api-versions.md');

/** Versions that brought nothing that clients depend on. */
const NOTHING: ReadonlySet<number> = new Set([26, 38]);

describe('versions of the API', () => {
  test('each of them is there, oldest first', () => {
    const versions = rows.map(([first = '']) => Number(/^1\.(\d+)/.exec(first)?.[1]));
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    const all = Array.from({ length: NEWEST - OLDEST }, (_, at) => OLDEST + 1 + at);
    expect([...new Set(versions)]).toEqual(all.filter((version) => !NOTHING.has(version)));
  });

  test.each(rows)('%s: %s: is shown by tests that are there', (...cells) => {
    expect(missingIn(cells)).toEqual([]);
  });
});

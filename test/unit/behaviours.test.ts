import { describe, expect, test } from 'vitest';
import { missingIn, rowsOf } from '../support/named-tests.ts';

/** The tables of `test/behaviours.md`: their last column names tests, which have to be there. */
const rows = rowsOf('behaviours.md');

describe('behaviours of a swarm', () => {
  test('1 to 120 are there, each once, in order', () => {
    const numbers = rows.map(([first = '']) => first).filter((text) => /^\d+$/.test(text));
    expect(numbers).toEqual(Array.from({ length: 120 }, (_, at) => String(at + 1)));
  });

  test.each(rows)('%s: %s: is shown by tests that are there', (...cells) => {
    expect(missingIn(cells)).toEqual([]);
  });
});

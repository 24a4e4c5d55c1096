import { describe, expect, test } from 'vitest';
import { missingIn, rowsOf } from '../support/named-tests.ts';

/** The tables of `test/complaints.md`: their last column names tests, which have to be there. */
describe('complaints and attacks', () => {
  test.each(rowsOf('complaints.md'))('%s: is shown by tests that are there', (...cells) => {
    expect(missingIn(cells)).toEqual([]);
  });
});

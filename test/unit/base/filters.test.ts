import { expect, test } from 'vitest';
import { filterBool, hasLabel } from '../../../daemon/base/filters.ts';

test.each([
  [['1'], true],
  [['true'], true],
  [['1', 'true'], true],
  [['0'], false],
  [['false'], false],
])('filterBool: %j is %s', (values, value) => {
  expect(filterBool('dangling', values)).toBe(value);
});

test.each([[[]], [['True']], [['t']], [['perhaps']], [['1', '0']]])('filterBool: %j is refused', (values) => {
  expect(() => filterBool('dangling', values)).toThrow(`invalid filter 'dangling=[${values.join(' ')}]'`);
});

test.each([
  ['a', true],
  ['a=1', true],
  ['a=', false],
  ['b', true],
  ['b=', true],
  ['c=x=y', true],
  ['c=x', false],
  ['d', false],
  ['__proto__', false],
])('hasLabel: %s is %s', (wanted, isThere) => {
  expect(hasLabel({ a: '1', b: '', c: 'x=y' }, wanted)).toBe(isThere);
});

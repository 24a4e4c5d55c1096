import { expect, test } from 'vitest';
import { fieldCut } from '../../../../api/versions/field-cut.ts';

test.each([
  [['a'], { a: 1, b: 2 }, { b: 2 }],
  [['a.b'], { a: { b: 1, c: 2 } }, { a: { c: 2 } }],
  [['a.b'], { a: [{ b: 1, c: 2 }, 3, null, { c: 4 }] }, { a: [{ c: 2 }, 3, null, { c: 4 }] }],
  [
    ['a', 'b.c'],
    [{ a: 1 }, { b: { c: 1 } }],
    [{}, { b: {} }],
  ],
  [['a', 'a.b'], { a: { b: 1, c: 2 } }, {}],
  [['a.b', 'a'], { a: { b: 1, c: 2 } }, {}],
])('fields %j: are cut out of %j', (paths, value, expected) => {
  const before = structuredClone(value);
  expect(fieldCut(paths)(value)).toEqual(expected);
  expect(value).toEqual(before);
});

test.each([undefined, null, 1, 'text', [], {}, { a: 1 }, { a: { c: [1] } }, [[{ a: 2 }]]])(
  'what has none of the fields is the same: %j',
  (value) => {
    expect(fieldCut(['a.b', 'toString', '__proto__'])(value)).toBe(value);
  },
);

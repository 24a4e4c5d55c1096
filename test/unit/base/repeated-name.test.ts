import { expect, test } from 'vitest';
import { repeatedName } from '../../../daemon/base/json/repeated-name.ts';

test.each([
  ['{}', undefined],
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}', undefined],
  ['{"a":"a","b":"a"}', undefined],
  [String.raw`{"a":"\"b\":{","b":"\\"}`, undefined],
  ['["a","a"]', undefined],
  ['{"A":1,"a":2}', undefined],
  ['{"a":1,"a":2}', 'a'],
  ['{"a":1 , "a"\n\t: 2}', 'a'],
  [String.raw`{"\u0061":1,"a":2}`, 'a'],
  ['{"x":[{"y":{"b":1,"c":[],"b":2}}]}', 'b'],
  ['{"":1,"":2}', ''],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
])('of %s the first name that occurs twice is %s', (text, name) => {
  expect(repeatedName(text, 10)).toBe(name);
});

test('what is nested too deeply is refused', () => {
  expect(repeatedName('[[[]]]', 3)).toBeUndefined();
  expect(() => repeatedName('[[[[]]]]', 3)).toThrow('nested deeper than 3 levels');
});

import { describe, expect, test } from 'vitest';
import { decodeJson, decodeStringMap, encodeJson } from '../../../../storage/database/json.ts';

describe('encodeJson', () => {
  test.each([
    ['a time', { startedAtNano: 1_700_000_000_123_456_789n, list: [1n, -2n] }],
    ['a label that looks like the tag', { labels: { $bigint: '5' }, at: 5n }],
    ['a label that looks like the escaped tag', { labels: { $$bigint: '5', $bigint: 'x' }, $$$bigint: [] }],
    ['nothing special', { a: [null, true, 'bigint"', { b: 1.5 }], empty: {} }],
  ])('decodeJson gives back %s', (_name, value) => {
    expect(decodeJson(encodeJson(value))).toEqual(value);
  });

  test('a key named __proto__ stays an ordinary key', () => {
    const value: unknown = JSON.parse('{"__proto__":{"$bigint":"1"},"at":1}');
    expect(encodeJson(decodeJson(encodeJson(value)))).toBe(encodeJson(value));
  });
});

test.each(['', '{', '[]', 'null', '{"a":1}'])('decodeStringMap refuses %j', (text) => {
  expect(() => decodeStringMap(text)).toThrow(SyntaxError);
});

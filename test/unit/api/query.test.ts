import { expect, test } from 'vitest';
import { boolValue, Query, parseFilters } from '../../../api/query.ts';

const query = (text: string): Query => new Query(new URLSearchParams(text));

test.each([
  ['', false],
  ['0', false],
  ['no', false],
  ['FALSE', false],
  ['None', false],
  ['1', true],
  ['true', true],
  ['whatever', true],
])('boolValue: "%s" is %s', (text, value) => {
  expect(boolValue(text)).toBe(value);
});

test('Query: an absent parameter is its default, an empty one is not given', () => {
  const absent = query('tag=&limit=');
  expect([absent.bool('quiet', true), absent.text('tag'), absent.int('limit'), absent.texts('tag')]).toEqual([
    true,
    undefined,
    undefined,
    [],
  ]);
});

test.each([
  ['limit=abc', 'invalid value "abc" for parameter limit: must be an integer'],
  ['limit=1.5', 'invalid value "1.5" for parameter limit: must be an integer'],
  ['limit=9007199254740993', 'invalid value "9007199254740993" for parameter limit: must be an integer'],
])('Query.int: refuses %s by name', (text, message) => {
  expect(() => query(text).int('limit')).toThrow(message);
});

test.each(['h=-1', 'h=', '', 'h=65536', 'h=9999999999'])('Query.size: refuses "%s"', (text) => {
  expect(() => query(text).size('h')).toThrow(/for parameter h: must be an unsigned integer/);
});

test.each([
  ['{"name":{"web":true,"db":true}}', [['name', ['web', 'db']]]],
  ['{"name":["web","db"]}', [['name', ['web', 'db']]]],
  [
    '{"a":{"x":true},"b":["y"]}',
    [
      ['a', ['x']],
      ['b', ['y']],
    ],
  ],
  ['{}', []],
  ['null', []],
  ['{"name":[],"status":{}}', []],
])('parseFilters: reads %s', (text, filters) => {
  expect([...parseFilters(text)]).toEqual(filters);
});

test.each(['nonsense', '[]', '7', '{"name":"web"}', '{"name":null}', '{"name":[1]}', '{"name":{"web":1}}'])(
  'parseFilters: refuses %s',
  (text) => {
    expect(() => parseFilters(text)).toThrow(/^invalid filters: /);
  },
);

const NOW = 1_000_000_000_000_000_000n;

test('Query.time: 0 and nothing mean unbounded, nonsense is refused by name', () => {
  expect([query('since=0').time('since', NOW), query('').time('since', NOW)]).toEqual([undefined, undefined]);
  expect(() => query('since=soon').time('since', NOW)).toThrow(/invalid value "soon" for parameter since/);
});

test.each([
  ['99999999999999999999999999999', 2n ** 63n - 1n],
  ['9999-12-31T23:59:59Z', 2n ** 63n - 1n],
  ['1795352114', 1_795_352_114_000_000_000n],
  ['-99999999999999999999', 1n - 2n ** 63n],
])('Query.time: %s is a time that can be stored', (text, nano) => {
  expect(query(`until=${text}`).time('until', 0n)).toBe(nano);
});

import { expect, test } from 'vitest';
import { matchDeep, outermost } from '../../../../storage/references/deep-match.ts';

const matches = (pattern: string, path: string): boolean => matchDeep(pattern.split('/'), path.split('/'));

test.each([
  ['c/**/e', 'c/e', true],
  ['c/**/e', 'c/d/e', true],
  ['c/**/e', 'c/d/d/e', true],
  ['c/**/e', 'c/d/e/f', false],
  ['c/**/e', 'd/e', false],
  ['**/*.md', 'one.md', true],
  ['**/*.md', 'a/b/one.md', true],
  ['**/a/**/b', 'a/a/b/b', true],
  ['a/**', 'a', false],
  ['a/**', 'a/b', true],
  // What lies in `b` comes with it.
  ['a/**', 'a/b/c', false],
  ['a/**b', 'a/bb', true],
  ['a/**b', 'a/b/b', false],
])('%s, %s: %s', (pattern, path, expected) => {
  expect(matches(pattern, path)).toBe(expected);
});

test('what lies in a directory that is meant too comes with it', () => {
  expect(outermost(['/a', '/a/b', '/a/b/c', '/ab', '/b/c', '/b/c/d', '/ab'])).toEqual(['/a', '/ab', '/b/c']);
});

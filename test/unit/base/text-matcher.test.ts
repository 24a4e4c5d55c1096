import { expect, test } from 'vitest';
import { textMatcher } from '../../../daemon/base/text-matcher.ts';

test.each([
  ['web', 'web', true],
  ['web', 'my-web-1', true],
  ['^web$', 'my-web-1', false],
  ['^/?web', '/web', true],
  ['w.b', 'wob', true],
  ['(web|db)-[0-9]+', 'db-12', true],
  ['(?i)WEB', 'web', true],
  ['(', '(', true],
  ['(', 'x(', false],
  ['[', 'a', false],
  ['', 'anything', true],
  ['a'.repeat(600), 'a'.repeat(600), true],
  ['a'.repeat(600), `${'a'.repeat(600)}b`, false],
])('the filter %.20s on %.20s: %s', (value, text, matches) => {
  expect(textMatcher(value)(text)).toBe(matches);
});

test('an expression that makes others go back again and again takes no time', () => {
  const startedAt = performance.now();
  for (const value of ['^(a+)+$', '(a|a)*b', '(a*)*c', '(.*a){25}b']) {
    textMatcher(value)(`${'a'.repeat(1000)}!`);
  }
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

/**
 * The ways in which engines are known to have failed (fault cases R1 to R76) and to have been broken into (classes 1
 * to 28) have numbers. A test begins its title with the number of what it covers, `R11: ...` or `class 8: ...`, so
 * that a grep finds it and a missing one is seen here.
 */
const REQUIRED = [
  ...numbered('R', [1, 62], [66, 76]),
  ...numbered('class ', [1, 9], [12, 17], [21, 22], [24, 29]),
];

const ROOT = path.resolve(import.meta.dirname, '..');
const covered = new Set(
  readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts') && !file.endsWith('faults-and-classes.test.ts'))
    .flatMap((file) => numbersOf(readFileSync(path.join(ROOT, file), 'utf8'))),
);

test('every fault case and security class that must hold has a test with its number', () => {
  expect(REQUIRED.filter((number) => !covered.has(number))).toEqual([]);
});

/** Behaviours of a swarm that a user counts on: `48: ...`, or several, `35 and 43: ...`. */
test('each of the 120 behaviours of a swarm has a test with its number', () => {
  const titles = new Set(
    readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts') && /swarm|network/.test(file))
      .flatMap((file) => behavioursOf(readFileSync(path.join(ROOT, file), 'utf8'))),
  );
  expect(numbered('', [1, 120]).filter((number) => !titles.has(number))).toEqual([]);
});

/** Titles come first in a call or in a row of a table; the answers of name servers look like them elsewhere. */
function behavioursOf(source: string): string[] {
  return [...source.matchAll(/[([]\s*['"`](\d+(?:(?:, | and )\d+)*): /g)].flatMap(([, numbers = '']) =>
    numbers.split(/, | and /),
  );
}

/** Titles are strings that begin with one number or several: `R11: stop`, `R1, R7: kill`, `class 5: root`. */
function numbersOf(source: string): string[] {
  return [...source.matchAll(/['"`]((?:R\d+|class \d+)(?:, (?:R\d+|class \d+))*): /g)].flatMap(
    ([, numbers = '']) => numbers.split(', '),
  );
}

function numbered(prefix: string, ...spans: readonly (readonly [number, number])[]): string[] {
  return spans.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => `${prefix}${first + index}`),
  );
}

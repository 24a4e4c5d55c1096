import { expect, test } from 'vitest';
import { expand, expandText, rawWords, splitWords } from '../../../../daemon/base/dockerfile/words.ts';
import { EngineError } from '../../../../daemon/base/errors.ts';

const VARIABLES = new Map([
  ['A', 'a'],
  ['EMPTY', ''],
  ['SPACED', 'x y'],
  ['PATHS', '/usr/local/bin/go'],
  ['STARS', 'a*b'],
]);

test.each([
  ['$A${A}', 'aa'],
  ['${NOPE}', ''],
  ['${NOPE:-word}', 'word'],
  ['${NOPE-word}', 'word'],
  ['${EMPTY:-$A}', 'a'],
  ['${EMPTY-$A}', ''],
  ['${A:-word}', 'a'],
  ['${A:+word}', 'word'],
  ['${EMPTY+word}', 'word'],
  ['${EMPTY:+word}', ''],
  ['${NOPE+word}', ''],
  ['${A:?word}', 'a'],
  ['${NOPE:-${NOPE:-deep}}', 'deep'],
  ['${NOPE:-"a}b"}', 'a}b'],
  ["'$A'", '$A'],
  ['"$A b"', 'a b'],
  ['\\$A', '$A'],
  ['"\\$A \\" \\n"', '$A " \\n'],
  ['$', '$'],
  ['a$', 'a$'],
  ['a\\', 'a'],
  ['$SPACED', 'x y'],
  ['$AB', ''],
  ['${PATHS#*/}', 'usr/local/bin/go'],
  ['${PATHS##*/}', 'go'],
  ['${PATHS%/*}', '/usr/local/bin'],
  ['${PATHS%%/*}', ''],
  ['${PATHS#no}', '/usr/local/bin/go'],
  ['${PATHS/l/L}', '/usr/Local/bin/go'],
  ['${PATHS//l/L}', '/usr/LocaL/bin/go'],
  ['${PATHS//\\//-}', '-usr-local-bin-go'],
  ['${PATHS/%a/x}', '/usr/local/bin/go'],
  ['${STARS#a\\*}', 'b'],
  ['${STARS//?/x}', 'xxx'],
  ['${NOPE#x}', ''],
  ['${A//x*/y}', 'a'],
])('expandText: %j is %j', (text, expected) => {
  expect(expandText(text, { variables: VARIABLES })).toBe(expected);
});

test.each([
  ['${A', 'w: failed to process "${A": unsupported modifier () in substitution'],
  ['${A:x}', 'w: failed to process "${A:x}": unsupported modifier (:x) in substitution'],
  ['${A:#x}', 'w: failed to process "${A:#x}": unsupported modifier (:#) in substitution'],
  ['${A:-x', 'w: failed to process "${A:-x": syntax error: missing \'}\''],
  ['${A/x', 'w: failed to process "${A/x": syntax error: missing \'/\' in ${}'],
  ['${}', 'w: failed to process "${}": syntax error: bad substitution'],
  ['"a', 'w: failed to process "\\"a": unexpected end of statement while looking for matching double-quote'],
  ["'a", 'w: failed to process "\'a": unexpected end of statement while looking for matching single-quote'],
  ['${NOPE:?must be}', 'w: failed to process "${NOPE:?must be}": NOPE: must be'],
  ['${NOPE?}', 'w: failed to process "${NOPE?}": NOPE: is not allowed to be unset'],
  ['${EMPTY:?}', 'w: failed to process "${EMPTY:?}": EMPTY: is not allowed to be empty'],
  [
    '${A#\\a}',
    'w: failed to process "${A#\\\\a}": invalid pattern (\\a) in substitution: invalid escape \'\\a\'',
  ],
])('expandText: %j is refused', (text, message) => {
  expect(() => expandText(text, { variables: VARIABLES, where: 'w' })).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});

test.each([
  ['variables within variables', '${N:-'.repeat(1000), 'bad substitution'],
  ['a pattern and its value', `\${L/${'*a'.repeat(3000)}*b/x}`, 'a pattern in a substitution is too long'],
])('expandText: %s have an end', (_, text, message) => {
  expect(() => expandText(text, { variables: new Map([['L', 'a'.repeat(20_000)]]) })).toThrow(message);
});

test.each([
  [{ keepsQuotes: true }, `"$A" 'b'`, `"a" 'b'`],
  [{ ignoresQuotes: true }, `"$A' \\$A`, `"a' $A`],
  [{ keepsUnset: true }, '$A $NO ${NO} ${NO:-x} ${NO#x} ${NO/x/y}', 'a $NO ${NO} ${NO:-x} ${NO#x} ${NO/x/y}'],
])('expandText with %j: %j is %j', (options, text, expected) => {
  expect(expandText(text, { variables: VARIABLES, ...options })).toBe(expected);
});

test('expand: words are split where a value has blanks, but not within quotes; names are told', () => {
  const { words, used, unset } = expand('a${SPACED}b "$SPACED" $NO', { variables: VARIABLES });
  expect(words).toEqual(['ax', 'yb', 'x y']);
  expect([[...used], [...unset]]).toEqual([['SPACED', 'NO'], ['NO']]);
});

test('splitWords: a variable with blanks stays one word; a backtick escapes where it is told to', () => {
  expect(splitWords('a=$SPACED b', VARIABLES, 'w')).toEqual(['a=x y', 'b']);
  expect(splitWords('a` b C:\\x', VARIABLES, 'w', '`')).toEqual(['a b', 'C:\\x']);
  expect(rawWords(`a="b c" d\\ e '' 'f\\' g\\`)).toEqual([`a="b c"`, 'd\\ e', "''", "'f\\'", 'g']);
});

function expressionOf(pattern: string): string {
  return Array.from(pattern)
    .map((char) =>
      char === '*' ? '.*' : char === '?' ? '.' : char.replace(/[.+^${}()|[\]\\]/, String.raw`\$&`),
    )
    .join('');
}

/** The same by regular expressions, which small texts can afford. */
function modelled(value: string, operator: string, pattern: string): string {
  const lengths = Array.from({ length: value.length + 1 }, (_, at) => at);
  const fits = (text: string): boolean => new RegExp(`^(?:${expressionOf(pattern)})$`).test(text);
  const starts = lengths.filter((at) => fits(value.slice(0, at)));
  const ends = lengths.filter((at) => fits(value.slice(at)));
  switch (operator) {
    case '#':
      return value.slice(starts[0] ?? 0);
    case '##':
      return value.slice(starts.at(-1) ?? 0);
    case '%':
      return value.slice(0, ends.at(-1) ?? value.length);
    case '%%':
      return value.slice(0, ends[0] ?? value.length);
    case '/':
      return value.replace(new RegExp(expressionOf(pattern)), '<>');
    default:
      return value.replace(new RegExp(expressionOf(pattern), 'g'), '<>');
  }
}

test('6,000 patterns on small values: what regular expressions make of them', () => {
  let state = 18;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff;
    return (state >> 8) % below;
  };
  const text = (of: string, max: number): string =>
    Array.from({ length: random(max) }, () => of[random(of.length)]).join('');
  for (let round = 0; round < 1000; round += 1) {
    const value = text('aab.', 8);
    const pattern = text('aab.*?', 5);
    for (const operator of ['#', '##', '%', '%%', '/', '//']) {
      // A pattern that begins with the operator's own sign is another operator.
      const written = operator.startsWith('/')
        ? `\${V${operator}${pattern}/<>}`
        : `\${V${operator}${pattern}}`;
      // Go and JavaScript differ in matches of nothing beside others; without a pattern `/` is part of `//`.
      if (operator.startsWith('/') && /^\**$/.test(pattern)) {
        continue;
      }
      expect(expandText(written, { variables: new Map([['V', value]]) }), `${written} of ${value}`).toBe(
        modelled(value, operator, pattern),
      );
    }
  }
});

test('2,000 texts of what trips over: an answer or a refusal, never anything else', () => {
  const pieces = ['$', '{', '}', ':', '-', '+', '?', '#', '%', '/', '"', "'", '\\', 'A', ' ', '<<', '*'];
  let state = 81;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff;
    return (state >> 8) % below;
  };
  for (let round = 0; round < 2000; round += 1) {
    const text = Array.from({ length: random(20) }, () => pieces[random(pieces.length)]).join('');
    try {
      const { text: whole, words } = expand(text, { variables: VARIABLES });
      expect(words.join('').length, text).toBeLessThanOrEqual(whole.length);
    } catch (error) {
      expect(error, text).toBeInstanceOf(EngineError);
    }
  }
});

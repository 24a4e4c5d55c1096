import { expect, test } from 'vitest';
import { BuildArgs } from '../../../../daemon/images/build/args.ts';
import { expandText, splitWords } from '../../../../daemon/images/commit/words.ts';

const VARIABLES = new Map([
  ['A', 'a'],
  ['EMPTY', ''],
  ['SPACED', 'x y'],
]);

test.each([
  ['$A${A}', 'aa'],
  ['${NOPE}', ''],
  ['${NOPE:-word}', 'word'],
  ['${EMPTY:-$A}', 'a'],
  ['${A:-word}', 'a'],
  ['${A:+word}', 'word'],
  ['${NOPE:+word}', ''],
  ['${NOPE:-${NOPE:-deep}}', 'deep'],
  ["'$A'", '$A'],
  ['"$A b"', 'a b'],
  ['\\$A', '$A'],
  ['"\\$A \\" \\n"', '$A " \\n'],
  ['$', '$'],
  ['a$', 'a$'],
  ['$SPACED', 'x y'],
  ['$AB', ''],
])('expandText: %j is %j', (text, expected) => {
  expect(expandText(text, { variables: VARIABLES, where: 'w' })).toBe(expected);
});

test.each([
  ['${A', 'w: cannot read the variable in "${A"'],
  ['${A:x}', 'w: cannot read the variable in "${A:x}"'],
  ['${A:-x', 'w: cannot read the variable in "${A:-x"'],
  ['"a', 'w: unexpected end of statement while looking for matching "'],
  ['${NOPE:?must be}', 'w: NOPE: must be'],
  ['${A:-'.repeat(1000), 'w: cannot read'],
])('expandText: %j is refused', (text, message) => {
  expect(() =>
    expandText(text.replace(/^\$\{A:-(?=\$)/, '${N:-').replaceAll('${A:-$', '${N:-$'), {
      variables: VARIABLES,
      where: 'w',
    }),
  ).toThrow(message.slice(0, 14));
});

test('splitWords: a variable with blanks stays one word; a backtick escapes where it is told to', () => {
  expect(splitWords('a=$SPACED b', VARIABLES, 'w')).toEqual(['a=x y', 'b']);
  expect(splitWords('a` b C:\\x', VARIABLES, 'w', '`')).toEqual(['a b', 'C:\\x']);
});

test('BuildArgs: what is given wins over defaults, and a stage sees only what it declares', () => {
  const args = new BuildArgs(
    new Map([
      ['GIVEN', 'g'],
      ['NULL', null],
      ['http_proxy', 'p'],
      ['LOST', 'l'],
    ]),
  );
  args.declareGlobal('GIVEN', 'default');
  args.declareGlobal('OTHER', 'o');
  expect([...args.globals]).toEqual([
    ['GIVEN', 'g'],
    ['OTHER', 'o'],
  ]);
  args.newStage();
  expect([...args.values]).toEqual([['http_proxy', 'p']]);
  args.declare('GIVEN', undefined);
  args.declare('OTHER', undefined);
  args.declare('NULL', 'n');
  args.declare('NOTHING', undefined);
  expect([...args.values]).toEqual([
    ['GIVEN', 'g'],
    ['OTHER', 'o'],
    ['NULL', 'n'],
    ['http_proxy', 'p'],
  ]);
  expect([...args.known]).toEqual([
    ['GIVEN', 'g'],
    ['OTHER', 'o'],
    ['NULL', 'n'],
  ]);
  expect(args.unused).toEqual(['LOST']);
  args.newStage();
  expect([...args.known]).toEqual([]);
});

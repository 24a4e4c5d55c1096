import { expect, test } from 'vitest';
import { BUILDKIT } from '../../../daemon/build/frontend/dialect.ts';
import { parseDockerfile } from '../../../daemon/base/dockerfile/parse.ts';
import { EngineError } from '../../../daemon/base/errors.ts';

const instruction = (text: string) => parseDockerfile(BUILDKIT, text).instructions[0];

test('directives, comments, continued lines and their positions', () => {
  const text = [
    '# syntax=docker/dockerfile:1',
    '# Escape = `',
    '# check=skip=JSONArgsRecommended;error=true',
    '# other=x',
    'from debian:12 as a',
    '',
    'RUN one `',
    '  # a comment',
    '',
    '  two',
    'CMD ["x"]',
  ].join('\r\n');
  const { directives, instructions } = parseDockerfile(BUILDKIT, text);
  expect(directives).toEqual({
    escape: '`',
    syntax: 'docker/dockerfile:1',
    check: 'skip=JSONArgsRecommended;error=true',
  });
  expect(instructions.map(({ name, word, rest, lines }) => ({ name, word, rest, lines }))).toEqual([
    { name: 'FROM', word: 'from', rest: 'debian:12 as a', lines: { from: 5, to: 5 } },
    { name: 'RUN', word: 'RUN', rest: 'one   two', lines: { from: 7, to: 10 } },
    { name: 'CMD', word: 'CMD', rest: '["x"]', lines: { from: 11, to: 11 } },
  ]);
});

test('here-documents: several, tabs, quotes, descriptors, and what looks like instructions or comments', () => {
  const text = [
    "COPY <<a <<-\"b\" 3<<'c d' <<'c' /to/",
    '# $A',
    'FROM x \\',
    'a',
    '\t\tb1',
    '\tb',
    'c1',
    'c',
    'RUN x',
  ].join('\n');
  const { instructions } = parseDockerfile(BUILDKIT, text);
  expect(instructions[0]?.heredocs).toEqual([
    { name: 'a', fd: 0, expands: true, content: '# $A\nFROM x \\\n', written: '# $A\nFROM x \\\n' },
    { name: 'b', fd: 0, expands: false, content: 'b1\n', written: '\t\tb1\n' },
    { name: 'c', fd: 0, expands: false, content: 'c1\n', written: 'c1\n' },
  ]);
  expect(instructions[0]?.lines).toEqual({ from: 1, to: 8 });
  expect(instructions[1]?.lines).toEqual({ from: 9, to: 9 });
});

test.each([
  ['RUN 5<<E cat\nx\nE', [['E', 5]]],
  ['RUN <<E\nE', [['E', 0]]],
  ['RUN cat <<<word', []],
  ['RUN echo "<<E"', []],
  ["RUN echo '<<E'", []],
  ['RUN echo \\<<E', []],
  ['RUN echo $((1<<2))', []],
  ['CMD cat <<E', []],
  ['RUN << E cat\nx\nE', [['E', 0]]],
  ['RUN ["cat", "<<E"]', []],
  ['RUN --mount=type=tmpfs,target=/t ["cat", "<<E"]', []],
  ['ONBUILD RUN <<E\nx\nE', [['E', 0]]],
  [
    'ONBUILD COPY <<E <<-F /\nx\nE\n\tF',
    [
      ['E', 0],
      ['F', 0],
    ],
  ],
  ['ONBUILD CMD <<E', []],
  ['ONBUILD ONBUILD RUN <<E', []],
])('here-documents of %j', (text, expected) => {
  expect(instruction(text)?.heredocs.map(({ name, fd }) => [name, fd])).toEqual(expected);
});

test.each([
  ['RUN --mount=type=cache,target=/a --mount=type=tmpfs,target=/b --network=none x --y', 'x --y', 3],
  ['COPY --from=a --link --parents=false --exclude=*.o --exclude=*.c --chmod=u+x --chown=1:2 a b', 'a b', 7],
  ['ADD --checksum=sha256:0 --keep-git-dir=true --unpack https://x/y /', 'https://x/y /', 3],
  ['HEALTHCHECK --interval=1s --retries=3 CMD x --y', 'CMD x --y', 2],
  ['FROM --platform=$BUILDPLATFORM x', 'x', 1],
  ['RUN -- --mount', '--mount', 0],
  ['RUN --mount="type=bind,target=/a b" x', 'x', 1],
  ['CMD --x', '--x', 0],
])('flags of %j', (text, rest, count) => {
  expect([instruction(text)?.rest, instruction(text)?.flags.length]).toEqual([rest, count]);
});

test.each([
  ['', 'file with no instructions'],
  ['# only\n', 'file with no instructions'],
  ['FROM a\nBLAH b', 'dockerfile parse error on line 2: unknown instruction: BLAH'],
  ['FROM a\nCOPPY b', 'dockerfile parse error on line 2: unknown instruction: COPPY (did you mean COPY?)'],
  ['FROM', 'dockerfile parse error on line 1: FROM requires at least one argument'],
  ['RUN --foo x', 'dockerfile parse error on line 1: unknown flag: --foo'],
  ['RUN --constructor=1 x', 'dockerfile parse error on line 1: unknown flag: --constructor'],
  ['COPY --from=a --from=b c d', 'dockerfile parse error on line 1: duplicate flag specified: from'],
  [
    'COPY --link=no a b',
    'dockerfile parse error on line 1: expecting boolean value for flag --link, not: no',
  ],
  ['COPY --from a b', 'dockerfile parse error on line 1: missing a value on flag: --from'],
  ['FROM a\nRUN <<E\nx', 'dockerfile parse error on line 2: unterminated heredoc E'],
  ['# escape=x\nFROM a', "dockerfile parse error on line 1: invalid ESCAPE 'x'. Must be ` or \\"],
  [
    '#syntax=a\n#syntax=b\nFROM a',
    'dockerfile parse error on line 2: only one syntax parser directive can be used',
  ],
])('%j is refused', (text, message) => {
  expect(() => parseDockerfile(BUILDKIT, text)).toThrow(
    expect.objectContaining({ code: 'invalid_argument', message }),
  );
});

test('2,000 texts of what a parser trips over: an answer or a refusal, never anything else', () => {
  const pieces = [
    'RUN ',
    'COPY ',
    '\n',
    '\\',
    '`',
    '"',
    "'",
    '<<',
    '-',
    'E',
    '--mount=',
    '#',
    '$',
    '{',
    ' ',
    '=',
  ];
  let state = 18;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff;
    return (state >> 8) % below;
  };
  for (let round = 0; round < 2000; round += 1) {
    const text = Array.from({ length: random(40) }, () => pieces[random(pieces.length)]).join('');
    try {
      const { instructions } = parseDockerfile(BUILDKIT, text);
      const ends = instructions.flatMap(({ lines }) => [lines.from, lines.to]);
      expect(ends).toEqual(ends.toSorted((a, b) => a - b));
    } catch (error) {
      expect(error, text).toBeInstanceOf(EngineError);
    }
  }
});

test.each([
  ['quotes', `RUN ${'"'.repeat(200_000)}`],
  ['here-documents', `RUN ${'<<'.repeat(200_000)}`],
  ['backslashes', `RUN --mount=${'\\'.repeat(200_001)}`],
])('%s without end take no square of their number', (_, text) => {
  expect(() => parseDockerfile(BUILDKIT, text)).not.toThrow(RangeError);
});

test('comments before an instruction are its own, and an empty one cuts off', () => {
  const text = [
    '# escape=`',
    '# one',
    '#',
    '# two',
    '',
    '#three',
    'FROM a',
    'RUN x `',
    '# in it',
    'y',
    '# four',
    'CMD c',
  ];
  expect(parseDockerfile(BUILDKIT, text.join('\n')).instructions.map(({ comments }) => comments)).toEqual([
    ['two', 'three'],
    [],
    ['four'],
  ]);
});

test('an escaped escape at the end of a line does not continue it; empty lines within one are told', () => {
  const text = ['FROM a', 'RUN echo \\\\', 'CMD x \\', '', 'y', 'USER u'].join('\n');
  const { instructions, emptyContinuations } = parseDockerfile(BUILDKIT, text);
  expect(instructions.map(({ rest }) => rest)).toEqual(['a', 'echo \\\\', 'x y', 'u']);
  expect(emptyContinuations).toEqual([5]);
});

test('lines of a here-document keep the ends that they have', () => {
  expect(instruction('COPY <<E /\r\na\r\nb\r\nE\r\n')?.heredocs[0]?.content).toBe('a\r\nb\r\n');
});

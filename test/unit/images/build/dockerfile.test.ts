import { describe, expect, test } from 'vitest';
import { parseDockerfile } from '../../../../daemon/base/dockerfile/parse.ts';
import { CLASSIC } from '../../../../daemon/images/build/dockerfile/dialect.ts';
import { planStages } from '../../../../daemon/images/build/dockerfile/stages.ts';

/** `line NAME flags | rest` of each instruction. */
function parsed(text: string): string[] {
  return parseDockerfile(CLASSIC, text).instructions.map(
    ({ lines, name, flags, rest }) =>
      `${lines.from} ${name} ${flags.map((flag) => `${flag.name},${flag.value}`).join(' ')}| ${rest}`,
  );
}

function problem(text: string, target = ''): string {
  try {
    planStages(parseDockerfile(CLASSIC, text), target);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return 'none';
}

describe('parseDockerfile', () => {
  test.each<[string, string, string[]]>([
    ['names in any case', 'from a\nRun b', ['1 FROM | a', '2 RUN | b']],
    ['comments and empty lines', '# c\n\nFROM a\n  # d\n\nRUN b', ['3 FROM | a', '6 RUN | b']],
    ['continued lines', 'FROM a\nRUN b \\\n  c \\ \n# not this\n\n  d', ['1 FROM | a', '2 RUN | b   c   d']],
    ['another escape', '# escape=`\nFROM a\nRUN b `\n c\\', ['2 FROM | a', '3 RUN | b  c\\']],
    [
      'a directive that comes late is a comment',
      'FROM a\n# escape=`\nRUN b \\\n c',
      ['1 FROM | a', '3 RUN | b  c'],
    ],
    [
      'flags',
      'FROM --platform=linux/amd64 a\nCOPY --from=x --chown=1:2 a b',
      ['1 FROM platform,linux/amd64| a', '2 COPY from,x chown,1:2| a b'],
    ],
    [
      'the rest of a flagged command',
      'FROM a\nHEALTHCHECK --retries=1 CMD x',
      ['1 FROM | a', '2 HEALTHCHECK | --retries=1 CMD x'],
    ],
    ['carriage returns and a byte order mark', '\uFEFFFROM a\r\nRUN b\r\n', ['1 FROM | a', '2 RUN | b']],
    ['an end within a continued line', 'FROM a\nRUN b \\', ['1 FROM | a', '2 RUN | b']],
    ["a shell's own <<", 'FROM a\nRUN cat <<EOF', ['1 FROM | a', '2 RUN | cat <<EOF']],
  ])('%s', (_what, text, expected) => {
    expect(parsed(text)).toEqual(expected);
  });

  test.each([
    ['FROM a\nFOO b', 'dockerfile parse error line 2: unknown instruction: FOO'],
    ['# only', 'dockerfile parse error: file with no instructions'],
    ['FROM a\nENV', 'dockerfile parse error line 2: ENV requires at least one argument'],
    ['FROM a\nRUN --mount=x y', 'dockerfile parse error line 2: Unknown flag: mount (not supported yet)'],
    ['FROM a\nCOPY --from=a --from=b c d', 'dockerfile parse error line 2: Duplicate flag specified: from'],
    ['# escape=x\nFROM a', "dockerfile parse error line 1: invalid ESCAPE 'x'. Must be ` or \\"],
    [
      'FROM a\nRUN <<EOF\nx\nEOF',
      'dockerfile parse error line 2: here-documents (<<EOF) are not supported yet',
    ],
    ['RUN a', 'dockerfile parse error line 1: no build stage in current context'],
    ['ARG a', 'no build stage in current context'],
    ['FROM a b', 'dockerfile parse error line 1: FROM requires either one or three arguments'],
    ['FROM a AS 1x', 'invalid name for build stage: "1x"'],
    ['FROM a AS x\nFROM b AS X', 'dockerfile parse error line 2: duplicate name X'],
  ])('%j is refused', (text, message) => {
    expect(problem(text)).toContain(message);
  });

  test('a target is a name or a number', () => {
    const text = 'ARG V=1\nFROM a AS one\nRUN x\nFROM b\nFROM c AS last';
    const names = (target: string): string[] =>
      planStages(parseDockerfile(CLASSIC, text), target).stages.map(({ base }) => base);
    expect([names(''), names('ONE'), names('1')]).toEqual([['a', 'b', 'c'], ['a'], ['a', 'b']]);
    expect(problem(text, 'none')).toBe('failed to reach build target none in Dockerfile');
    expect(planStages(parseDockerfile(CLASSIC, text), '').globalArgs.map(({ rest }) => rest)).toEqual([
      'V=1',
    ]);
  });
});

import { expect, test } from 'vitest';
import { parseSource } from '../../../scripts/lib/sources.ts';
import { crowdedFolders, mergeMarks, tidy } from '../../../scripts/lib/tidy-rules.ts';

const check = (file: string, text: string): string[] =>
  tidy(parseSource(file, text)).map(({ line, message, severity }) => `${severity} ${line}: ${message}`);
const lines = (count: number): string => 'x();\n'.repeat(count);
const filesOf = (folder: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${folder}/${number}.ts`);

test.each([
  ['daemon/a.ts', 'try { x(); } catch {\n  // Gone already: nothing to undo.\n}\n'],
  ['daemon/a.ts', '// Closing twice is harmless.\nx().catch(() => undefined);\n'],
  ['daemon/a.ts', 'void x().catch((error) => log.error(error));\n'],
  ['daemon/a.ts', 'void x?.y().catch((error) => log.error(error));\n'],
  ['test/a.ts', 'void x();\n'],
  ['daemon/a.ts', '// The kernel writes nothing else there.\nconst y = z as Shape;\n'],
  ['daemon/a.ts', 'const y = [1] as const;\n'],
  ['scripts/a.ts', 'console.log(1);\n'],
  ['a.config.ts', 'export default {};\n'],
  ['test/unit/a.test.ts', `describe('x', () => {\n${lines(100)}});\n`],
])('tidy: %s may have %j', (file, text) => {
  expect(check(file, text)).toEqual([]);
});

test.each([
  ['daemon/a.ts', lines(450), 'warning 1: 450 lines'],
  ['daemon/a.ts', lines(501), 'error 1: 501 lines'],
  ['daemon/a.ts', `function f() {\n${lines(70)}}\n`, 'error 1: a function of 72 lines'],
  ['daemon/a.ts', `// ${'x'.repeat(130)}\n`, 'error 1: 133 characters'],
  ['daemon/a.ts', '// TODO later\n', 'error 1: TODO left behind'],
  ['daemon/a.ts', '/* oxlint-disable */\n', 'error 1: oxlint-disable'],
  ['daemon/a.ts', '// @ts-expect-error\n', 'error 1: @ts-expect-error'],
  ['daemon/a.ts', 'console.log(1);\n', 'error 1: console'],
  ['test/a.test.ts', "vi.mock('x');\n", 'error 1: module mocks'],
  ['test/a.test.ts', "test.only('x', f);\n", 'error 1: focused or skipped test'],
  ['daemon/a.ts', 'try { x(); } catch {}\n', 'error 1: empty catch'],
  ['daemon/a.ts', 'x().catch(() => {});\n', 'error 1: .catch that drops'],
  ['daemon/a.ts', 'void x();\n', 'error 1: void of a call'],
  ['daemon/a.ts', 'const f = () => void x.y(1).finally(z);\n', 'error 1: void of a call'],
  ['daemon/a.ts', 'void x?.y();\n', 'error 1: void of a call'],
  ['daemon/a.ts', 'export default 1;\n', 'error 1: default export'],
  ['daemon/a.ts', 'const y = z as Shape;\n', 'error 1: type assertion without its reason'],
  ['daemon/a.ts', "/** @path-hostile */\nimport { open } from 'node:fs/promises';\n", 'error 2: plain fs'],
])('tidy: %s must not have %j', (file, text, message) => {
  expect(check(file, text)).toEqual([expect.stringContaining(message)]);
});

test('tidy: a folder holds 20 files, that of version changes any number', () => {
  const files = [
    ...filesOf('daemon/volumes', 20),
    ...filesOf('daemon/volumes/deep', 1),
    ...filesOf('daemon/networks', 21),
    ...filesOf('api/versions/changes', 30),
  ];
  expect(crowdedFolders(files)).toEqual([
    {
      file: 'daemon/networks',
      line: 1,
      message: '21 files side by side: a folder holds at most 20',
      severity: 'error',
    },
  ]);
});

test('marks of a merge are found in prose', () => {
  const text = [
    '# One',
    `${'<'.repeat(7)} HEAD`,
    'Title',
    '='.repeat(7),
    `${'>'.repeat(7)} 1234567 (text)`,
  ].join('\n');
  expect(mergeMarks('README.md', text)).toMatchObject([{ line: 2 }, { line: 5 }]);
});

import { expect, test } from 'vitest';
import { checkCircles } from '../../../scripts/lib/circles.ts';
import { parseSource } from '../../../scripts/lib/sources.ts';

const check = (files: Readonly<Record<string, string>>): string[] =>
  checkCircles(Object.entries(files).map(([file, text]) => parseSource(file, text))).map(
    ({ file, line, message }) => `${file}:${line} ${message.split('. ')[0]}`,
  );

const A_IMPORTS_B = "import { x } from './b.ts';";

test('circles: files that lead one way have none, however often they meet', () => {
  expect(
    check({
      'daemon/a.ts': `${A_IMPORTS_B}\nimport { y } from './c/d.ts';`,
      'daemon/b.ts': "import { y } from './c/d.ts';\nimport { z } from 'koa';",
      'daemon/c/d.ts': "import { readFileSync } from 'node:fs';\nimport { gone } from './gone.ts';",
    }),
  ).toEqual([]);
});

test.each([
  ['two files', { 'daemon/a.ts': A_IMPORTS_B, 'daemon/b.ts': "import { x } from './a.ts';" }],
  ['types', { 'daemon/a.ts': A_IMPORTS_B, 'daemon/b.ts': "import type { X } from './a.ts';" }],
  ['a type in place', { 'daemon/a.ts': A_IMPORTS_B, 'daemon/b.ts': "type X = import('./a.ts').X;" }],
  ['what is exported again', { 'daemon/a.ts': A_IMPORTS_B, 'daemon/b.ts': "export { x } from './a.ts';" }],
  ['a dynamic import', { 'daemon/a.ts': A_IMPORTS_B, 'daemon/b.ts': "await import('./a.ts');" }],
])('circles: %s make one', (_what, files) => {
  expect(check(files)).toEqual([
    'daemon/a.ts:1 a circle of 2 files that import each other (types count): daemon/a.ts, daemon/b.ts',
  ]);
});

test('circles: each is told once, with the names of its files, at the import that enters it', () => {
  expect(
    check({
      'daemon/main.ts': "import './networks/a.ts';\nimport '../storage/a.ts';",
      'daemon/networks/a.ts': "import './outside.ts';\nimport './b.ts';",
      'daemon/networks/b.ts': "import './dns/c.ts';",
      'daemon/networks/dns/c.ts': "import '../a.ts';\nimport '../b.ts';",
      'daemon/networks/outside.ts': '',
      'storage/a.ts': "import './b.ts';",
      'storage/b.ts': "import './a.ts';",
    }),
  ).toEqual([
    'daemon/networks/a.ts:2 a circle of 3 files that import each other (types count): ' +
      'daemon/networks/a.ts, daemon/networks/b.ts, daemon/networks/dns/c.ts',
    'storage/a.ts:1 a circle of 2 files that import each other (types count): storage/a.ts, storage/b.ts',
  ]);
});

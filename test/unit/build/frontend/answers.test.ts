import { expect, test } from 'vitest';
import type { Answer } from '../../../../daemon/build/frontend/answers/answer.ts';
import { describeAnswer } from '../../../../daemon/build/frontend/answers/describe.ts';
import { lintAnswer } from '../../../../daemon/build/frontend/answers/lint.ts';
import { outlineAnswer } from '../../../../daemon/build/frontend/answers/outline.ts';
import { targetsAnswer } from '../../../../daemon/build/frontend/answers/targets.ts';
import { BUILDKIT } from '../../../../daemon/build/frontend/dialect.ts';
import { parseDockerfile } from '../../../../daemon/base/dockerfile/parse.ts';
import { answerSubrequest } from '../../../../daemon/build/frontend/answers/subrequest.ts';
import { invalidArgument, notFound } from '../../../../daemon/base/errors.ts';
import { OPTIONS, read } from './reading.ts';

const textOf = (answer: Answer, name: string): string => answer.get(name)?.toString() ?? '';
const jsonOf = (answer: Answer): unknown => JSON.parse(textOf(answer, 'result.json'));
const at = (line: number): object => ({ ranges: [{ start: { line }, end: { line } }] });

const TEXT = [
  '# V is a version',
  'ARG V=12',
  'ARG UNUSED=1',
  'ARG BASE=debian:$V',
  '# build makes it',
  'FROM debian:12 AS build',
  'ARG TARGETARCH',
  'ARG MODE=fast',
  'RUN --mount=type=secret,id=tok,required --mount=type=ssh make',
  'FROM $BASE',
  'COPY --from=build /a /a',
  'CMD a',
].join('\n');
const SOURCE = { filename: 'Dockerfile', text: TEXT };
const DATA = Buffer.from(TEXT).toString('base64');

test('check: JSON and text of warnings, with the lines around them', async () => {
  const { warnings } = await read(TEXT);
  const made = lintAnswer(SOURCE, warnings);
  expect(jsonOf(made)).toEqual({
    warnings: [
      {
        ruleName: 'JSONArgsRecommended',
        description:
          'JSON arguments recommended for ENTRYPOINT/CMD to prevent unintended behavior related to OS signals',
        url: 'https://docs.docker.com/go/dockerfile/rule/json-args-recommended/',
        detail: 'JSON arguments recommended for CMD to prevent unintended behavior related to OS signals',
        location: at(12),
      },
    ],
    sources: [{ filename: 'Dockerfile', data: DATA, language: 'Dockerfile' }],
  });
  expect(textOf(made, 'result.txt').split('\n')).toEqual([
    '',
    'WARNING: JSONArgsRecommended - https://docs.docker.com/go/dockerfile/rule/json-args-recommended/',
    'JSON arguments recommended for CMD to prevent unintended behavior related to OS signals',
    'Dockerfile:12',
    '--------------------',
    '  10 |     FROM $BASE',
    '  11 |     COPY --from=build /a /a',
    '  12 | >>> CMD a',
    '--------------------',
    '',
  ]);
  expect([textOf(made, 'result.statuscode'), textOf(made, 'version')]).toEqual(['1', '1.0.0']);
});

test('check: a clean file, and one that cannot be built', () => {
  expect(textOf(lintAnswer(SOURCE, []), 'result.statuscode')).toBe('0');
  const failed = lintAnswer(SOURCE, [], invalidArgument('no', { details: { line: 2, endLine: 3 } }));
  expect(jsonOf(failed)).toMatchObject({
    buildError: { message: 'no', location: { ranges: [{ start: { line: 2 } }, { start: { line: 3 } }] } },
  });
  expect(textOf(failed, 'result.statuscode')).toBe('1');
});

test('outline: what the target and the stages below it may be told', async () => {
  const { target } = await read(TEXT);
  const made = outlineAnswer(SOURCE, target);
  expect(jsonOf(made)).toEqual({
    args: [
      { name: 'V', description: 'is a version', value: '12', location: at(2) },
      { name: 'BASE', value: 'debian:12', location: at(4) },
      { name: 'MODE', value: 'fast', location: at(8) },
    ],
    secrets: [{ name: 'tok', required: true, location: at(9) }],
    ssh: [{ name: 'default', location: at(9) }],
    sources: [DATA],
  });
  expect(textOf(made, 'result.txt').split('\n')).toEqual([
    'BUILD ARG   VALUE       DESCRIPTION',
    'V           12          is a version',
    'BASE        debian:12   ',
    'MODE        fast        ',
    '',
    'SECRET   REQUIRED',
    'tok      true',
    '',
    'SSH       REQUIRED',
    'default   ',
    '',
    '',
  ]);
});

test('outline: of one stage, with its name and what it is for', async () => {
  const { target } = await read(TEXT, { options: { target: 'build' } });
  const made = outlineAnswer(SOURCE, target);
  expect(jsonOf(made)).toMatchObject({ name: 'build', description: 'makes it' });
  expect(textOf(made, 'result.txt')).toMatch(/^TARGET: +build\nDESCRIPTION: makes it\n\nBUILD ARG/);
});

test('outline: an argument that is made of itself has what the one before was made of', async () => {
  const text = 'ARG A=1\nARG B=2\nARG C=3\nARG A=${A}${B}\nARG A=x${A}\nFROM debian:12\nARG A';
  const { target } = await read(text);
  expect(jsonOf(outlineAnswer({ ...SOURCE, text }, target))).toMatchObject({
    args: [
      { name: 'B', value: '2', location: at(2) },
      { name: 'A', value: 'x12', location: at(5) },
    ],
  });
});

test('targets: all stages, the last by default', () => {
  const made = targetsAnswer(SOURCE, parseDockerfile(BUILDKIT, TEXT));
  expect(jsonOf(made)).toEqual({
    targets: [
      { name: 'build', description: 'makes it', base: 'debian:12', location: at(6) },
      { default: true, base: '$BASE', location: at(10) },
    ],
    sources: [DATA],
  });
  expect(textOf(made, 'result.txt')).toBe('TARGET    DESCRIPTION\nbuild     makes it\n(default) \n');
});

test('describe: what may be asked', () => {
  expect(
    textOf(describeAnswer(), 'result.txt')
      .split('\n')
      .map((line) => line.replace(/ .*/, '')),
  ).toEqual(['NAME', 'outline', 'targets', 'lint', 'subrequests.describe', '']);
});

test.each([
  [
    'frontend.lint',
    {
      buildError: {
        message:
          'debian:12: failed to resolve source metadata for docker.io/library/debian:12: debian: not found',
        location: at(6),
      },
    },
  ],
  ['frontend.targets', { targets: [{ name: 'build' }, { default: true }] }],
])('%s of a Dockerfile whose images are not there', async (name, value) => {
  const ports = {
    findImage: (): Promise<never> => Promise.reject(notFound('debian: not found')),
    findLayout: (): Promise<never> => Promise.reject(notFound('no layout')),
    ignoredOf: () => Promise.resolve([]),
  };
  const job = { name, source: SOURCE, options: { ...OPTIONS, target: 'build' }, check: '' };
  expect(jsonOf(await answerSubrequest(job, ports))).toMatchObject(value);
});

test('other requests are refused by name, and a check with its options', async () => {
  const ports = {
    findImage: (): Promise<never> => Promise.reject(notFound('no')),
    findLayout: (): Promise<never> => Promise.reject(notFound('no layout')),
    ignoredOf: () => Promise.resolve([]),
  };
  const job = { name: 'frontend.other', source: SOURCE, options: OPTIONS, check: '' };
  await expect(answerSubrequest(job, ports)).rejects.toThrow('unsupported request frontend.other');
  const answer = await answerSubrequest({ ...job, name: 'frontend.lint', check: 'skipp=all' }, ports);
  expect(jsonOf(answer)).toMatchObject({ buildError: { message: 'invalid check option "skipp=all"' } });
});

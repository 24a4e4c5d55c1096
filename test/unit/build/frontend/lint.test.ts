import { expect, test } from 'vitest';
import { parseLintConfig } from '../../../../daemon/build/frontend/lint/linter.ts';
import { RULES } from '../../../../daemon/build/frontend/lint/rules.ts';
import { read, type Given } from './reading.ts';

async function found(text: string, given?: Given): Promise<string[]> {
  const { warnings } = await read(text, given);
  return warnings.map(({ rule, lines, detail }) => `${rule.name} ${lines.from}: ${detail}`);
}

const CASES: [string, string[], Given?][] = [
  ['FROM debian:12 AS Build', ["StageNameCasing 1: Stage name 'Build' should be lowercase"]],
  ['FROM debian:12 as x', ["FromAsCasing 1: 'as' and 'FROM' keywords' casing do not match"]],
  ['from debian:12 AS x', ["FromAsCasing 1: 'AS' and 'from' keywords' casing do not match"]],
  ['FROM debian:12\nRUN a \\\n\n b', ['NoEmptyContinuation 4: Empty continuation line']],
  [
    'FROM debian:12\nrun a\nRUN b\nCopy a /a',
    [
      "ConsistentInstructionCasing 2: Command 'run' should match the case of the command majority (uppercase)",
      "ConsistentInstructionCasing 4: Command 'Copy' should match the case of the command majority (uppercase)",
    ],
  ],
  [
    'FROM debian:12 AS a\nFROM debian:12 AS a',
    ['DuplicateStageName 2: Duplicate stage name "a", stage names should be unique'],
  ],
  [
    'FROM debian:12 AS context',
    ['ReservedStageName 1: Stage name should not use the same name as reserved stage "context"'],
  ],
  [
    'FROM debian:12\nCMD a\nENTRYPOINT b',
    [
      'JSONArgsRecommended 2: JSON arguments recommended for CMD to prevent unintended behavior related to OS signals',
      'JSONArgsRecommended 3: JSON arguments recommended for ENTRYPOINT to prevent unintended behavior related to OS ' +
        'signals',
    ],
  ],
  ['FROM debian:12\nSHELL ["x"]\nCMD a', []],
  [
    'FROM debian:12\nMAINTAINER me',
    ['MaintainerDeprecated 2: Maintainer instruction is deprecated in favor of using label'],
  ],
  [
    'ARG VERSION=12\nFROM debian:12$VERSON',
    ["UndefinedArgInFrom 2: FROM argument 'VERSON' is not declared (did you mean VERSION?)"],
  ],
  [
    'FROM debian:12\nWORKDIR a\nWORKDIR b',
    ['WorkdirRelativePath 2: Relative workdir "a" can have unexpected results if the base image changes'],
  ],
  ['FROM debian:12\nWORKDIR /a\nWORKDIR b', []],
  [
    'FROM debian:12\nARG NAME\nCOPY $NAM $NAME /$OTHER',
    [
      "UndefinedVar 3: Usage of undefined variable '$NAM' (did you mean $NAME?)",
      "UndefinedVar 3: Usage of undefined variable '$OTHER'",
    ],
    { options: { args: new Map([['NAME', 'x']]) } },
  ],
  ['FROM debian:12\nARG NAME\nENV A=$NAME B=$PATH', []],
  [
    'FROM debian:12\nCMD ["a"]\nENTRYPOINT ["a"]\nCMD ["b"]\nHEALTHCHECK NONE\nHEALTHCHECK NONE',
    [
      'MultipleInstructionsDisallowed 2: Multiple CMD instructions should not be used in the same stage because only ' +
        'the last one will be used',
      'MultipleInstructionsDisallowed 5: Multiple HEALTHCHECK instructions should not be used in the same stage ' +
        'because only the last one will be used',
    ],
  ],
  [
    'FROM debian:12\nENV A b\nLABEL c d',
    [
      'LegacyKeyValueFormat 2: "ENV key=value" should be used instead of legacy "ENV key value" format',
      'LegacyKeyValueFormat 3: "LABEL key=value" should be used instead of legacy "LABEL key value" format',
    ],
  ],
  [
    'FROM debian:12',
    [
      'InvalidBaseImagePlatform 1: Base image debian:12 was pulled with platform "linux/amd64", expected ' +
        '"linux/arm64" for current build',
    ],
    { options: { targetPlatform: { os: 'linux', architecture: 'arm64' } } },
  ],
  [
    'FROM --platform=${TARGETPLATFORM} debian:12',
    [
      'RedundantTargetPlatform 1: Setting platform to predefined ${TARGETPLATFORM} in FROM is redundant as this is ' +
        'the default behavior',
    ],
  ],
  [
    'FROM --platform=linux/amd64 debian:12',
    ['FromPlatformFlagConstDisallowed 1: FROM --platform flag should not use constant value "linux/amd64"'],
  ],
  ['FROM --platform=linux/amd64 debian:12 AS x-amd64', []],
  ['FROM --platform=$BUILDPLATFORM debian:12', []],
  [
    'FROM debian:12\nARG AUTH_TOKEN\nENV DB_PASSWORD=a KEY_FILE=/b MONKEY=c',
    [
      'SecretsUsedInArgOrEnv 2: Do not use ARG or ENV instructions for sensitive data (ARG "AUTH_TOKEN")',
      'SecretsUsedInArgOrEnv 3: Do not use ARG or ENV instructions for sensitive data (ENV "DB_PASSWORD")',
    ],
  ],
  [
    'ARG TAG\nFROM debian:$TAG',
    [
      'InvalidDefaultArgInFrom 2: Default value for ARG debian:$TAG results in empty or invalid base image name',
    ],
    { options: { args: new Map([['TAG', '12']]) } },
  ],
  [
    '# check=skip=all;experimental=CopyIgnoredFile\nFROM debian:12\nCOPY a.log b /\nADD sub/x /',
    [
      'CopyIgnoredFile 3: Attempting to Copy file "a.log" that is excluded by .dockerignore',
      'CopyIgnoredFile 4: Attempting to Add file "sub/x" that is excluded by .dockerignore',
    ],
    { options: { ignorePatterns: ['*.log', 'sub'] } },
  ],
  ['FROM debian:12\nCOPY a.log /', [], { options: { ignorePatterns: ['*.log'] } }],
  [
    '# check=experimental=all\nFROM debian:12\nCOPY a.log /',
    [],
    { options: { ignorePatterns: ['*.log', '!a.log'] } },
  ],
  ['# check=experimental=all\nFROM debian:12\nCOPY . /', [], { options: { ignorePatterns: ['**/x'] } }],
  [
    '# check=experimental=all\n# other things\nARG A\n\n# a build of it\nFROM debian:12 AS a\n# it\nARG B C',
    [
      'InvalidDefinitionDescription 3: Comment for ARG should follow the format: `# A <description>`',
      'InvalidDefinitionDescription 8: Comment for ARG should follow the format: `# <arg_key> <description>`',
    ],
  ],
  ['# other things\nARG A\nFROM debian:12', []],
  [
    'FROM debian:12\nEXPOSE 80/TCP 127.0.0.1:80:81',
    [
      'ExposeInvalidFormat 2: EXPOSE instruction should not define an IP address or host-port mapping, found ' +
        "'127.0.0.1:80:81'",
      "ExposeProtoCasing 2: Defined protocol '80/TCP' in EXPOSE instruction should be lowercase",
    ],
  ],
];

test.each(CASES)('%j: %j', async (text, warnings, given) => {
  expect(await found(text, given)).toEqual(
    text.startsWith('# check') ? warnings.toSorted() : expect.arrayContaining(warnings),
  );
  expect(await found(text, given)).toHaveLength(warnings.length);
});

test('every rule has a case, and a page by its name', () => {
  const shown = new Set(CASES.flatMap(([, warnings]) => warnings.map((line) => line.replace(/ .*/s, ''))));
  expect(
    Object.values(RULES)
      .map(({ name }) => name)
      .filter((name) => !shown.has(name)),
  ).toEqual([]);
  expect(RULES.jsonArgsRecommended.url).toBe(
    'https://docs.docker.com/go/dockerfile/rule/json-args-recommended/',
  );
  expect(RULES.undefinedArgInFrom.url).toBe(
    'https://docs.docker.com/go/dockerfile/rule/undefined-arg-in-from/',
  );
});

test.each([
  ['# check=skip=JSONArgsRecommended\nFROM debian:12\nCMD a\nMAINTAINER m', ['MaintainerDeprecated']],
  ['# check=skip=all\nFROM debian:12\nCMD a\nMAINTAINER m', []],
  [
    'FROM debian:12\n# check=skip=JSONArgsRecommended it is a shell\nCMD a\nENTRYPOINT b',
    ['JSONArgsRecommended'],
  ],
])('what is skipped: %j', async (text, rules) => {
  expect((await read(text)).warnings.map(({ rule }) => rule.name)).toEqual(rules);
});

test('error=true: the build ends with the names of the rules; the warnings are still there', async () => {
  const given: Required<Pick<Given, 'warnings'>> = { warnings: [] };
  await expect(read('# check=error=true\nFROM debian:12\nCMD a\nCMD b', given)).rejects.toThrow(
    'lint violation found for rules: JSONArgsRecommended, MultipleInstructionsDisallowed',
  );
  expect(given.warnings).toHaveLength(3);
});

test('what stands before an instruction that cannot be read is looked at', async () => {
  const given: Required<Pick<Given, 'warnings'>> = { warnings: [] };
  await expect(read('FROM debian:12 AS Bad\nMAINTAINER me\nBADCMD\nMAINTAINER me', given)).rejects.toThrow(
    'dockerfile parse error on line 3: unknown instruction: BADCMD',
  );
  expect(given.warnings.map(({ rule }) => rule.name)).toEqual(['StageNameCasing', 'MaintainerDeprecated']);
});

test.each(['skip', 'other=x', 'error=perhaps'])('check=%s is refused', (text) => {
  expect(() => parseLintConfig(text)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
});

test('stages that the target does not need are read where all are to be', async () => {
  const text = 'FROM debian:12 AS a\nCMD x\nFROM debian:12 AS b';
  expect(await found(text)).toEqual([]);
  expect(await found(text, { readsAll: true })).toHaveLength(1);
});

import { expect, test } from 'vitest';
import { formatPlatform } from '../../../../storage/image/platform.ts';
import { OPTIONS, names, read, vertices } from './reading.ts';

const THREE = ['FROM debian:12 AS a', 'RUN a', 'FROM missing AS b', 'RUN b', 'FROM a AS c', 'RUN c'];

test.each([
  ['', ['[a 1/2] FROM docker.io/library/debian:12', '[a 2/2] RUN a', '[c 1/1] RUN c']],
  ['A', ['[a 1/2] FROM docker.io/library/debian:12', '[a 2/2] RUN a']],
  ['0', ['[a 1/2] FROM docker.io/library/debian:12', '[a 2/2] RUN a']],
])('target %j: only what it needs is asked for and made', async (target, expected) => {
  const { tree, asked } = await read(THREE, { options: { target } });
  expect(names(tree)).toEqual(expected);
  expect(asked).toEqual(['docker.io/library/debian:12']);
});

test('stages that need nothing of each other share nothing but the image', async () => {
  const { tree } = await read([
    'FROM debian:12 AS a',
    'RUN a',
    'FROM debian:12 AS b',
    'RUN b',
    'FROM scratch',
    'COPY --from=a /x /',
    'COPY --from=1 /y /',
  ]);
  expect(names(tree)).toEqual([
    '[a 1/2] FROM docker.io/library/debian:12',
    '[a 2/2] RUN a',
    '[stage-2 1/2] COPY --from=a /x /',
    '[b 2/2] RUN b',
    '[stage-2 2/2] COPY --from=1 /y /',
  ]);
});

test('equal steps of two stages are one, fresh where one of them is', async () => {
  const text = [
    'FROM debian:12 AS a',
    'RUN same',
    'FROM debian:12 AS b',
    'RUN same',
    'RUN b',
    'FROM b',
    'COPY --from=a / /',
  ];
  const { tree } = await read(text, { options: { noCache: ['b'] } });
  expect(vertices(tree).map(({ name, isFresh = false }) => [name, isFresh])).toEqual([
    ['[b 1/3] FROM docker.io/library/debian:12', false],
    ['[b 2/3] RUN same', true],
    ['[b 3/3] RUN b', true],
    ['[stage-2 1/1] COPY --from=a / /', false],
  ]);
});

test('scratch has no tree; labels of the client are the image’s', async () => {
  const { tree, image } = await read(['FROM scratch', 'LABEL a=1 b=2'], {
    options: {
      labels: new Map([['a', '3']]),
      targetPlatform: { os: 'linux', architecture: 'arm64', variant: 'v8' },
    },
  });
  expect(tree).toBeUndefined();
  expect(image).toMatchObject({
    os: 'linux',
    architecture: 'arm64',
    variant: 'v8',
    config: { WorkingDir: '/', Labels: { a: '3', b: '2' } },
  });
});

test('platforms: of the FROM, of the build; names tell them where there are several', async () => {
  const options = {
    targetPlatform: { os: 'linux', architecture: 'arm64' },
    isMultiPlatform: true,
  };
  const { tree } = await read(
    [
      'FROM --platform=$BUILDPLATFORM golang:1.24 AS build',
      'ARG TARGETARCH BUILDARCH TARGETSTAGE',
      'RUN $TARGETARCH $BUILDARCH $TARGETSTAGE',
      'FROM debian:12 AS end',
      'COPY --from=build / /',
    ],
    { options },
  );
  expect(names(tree)).toEqual([
    '[linux/arm64 end 1/2] FROM docker.io/library/debian:12',
    '[linux/amd64 build 1/2] FROM docker.io/library/golang:1.24',
    '[linux/amd64->arm64 build 2/2] RUN arm64 amd64 end',
    '[linux/arm64 end 2/2] COPY --from=build / /',
  ]);
  const platforms = vertices(tree).flatMap(({ op }) => (op.kind === 'image' ? [op.platform] : []));
  expect(platforms).toEqual(['linux/arm64', formatPlatform(OPTIONS.buildPlatform)]);
});

const LOCAL = {
  kind: 'local' as const,
  name: 'own',
  session: 's1',
  sharedKey: '',
  includePatterns: [],
  excludePatterns: ['x'],
  followPaths: [],
};

test.each([
  ['directly', ['FROM files', 'RUN x']],
  ['by a stage', ['FROM missing AS files', 'FROM files', 'RUN x']],
  ['as the target', ['FROM missing AS files']],
])('a directory of the client is the base of a stage, all of it as a layer: %s', async (_how, lines) => {
  const contexts = new Map([['files', { kind: 'source', op: LOCAL, name: 'files' }]] as const);
  const { tree, image } = await read(lines, { options: { contexts } });
  const all = vertices(tree);
  expect(all.map(({ op }) => op.kind).slice(0, 2)).toEqual(['local', 'files']);
  expect(all[0]?.op).toMatchObject({ name: 'own', excludePatterns: [], followPaths: [] });
  expect(all[1]).toMatchObject({
    inputs: [undefined, all[0]],
    op: { actions: [{ action: 'copy', from: 1, sources: ['/'], destination: '/' }] },
  });
  // A layer for each of them.
  expect(image.history.filter(({ emptyLayer }) => !emptyLayer)).toHaveLength(all.length - 1);
});

test('what a named directory leaves out is asked for', async () => {
  const op = { ...LOCAL, name: 'ignoring' };
  const contexts = new Map([['files', { kind: 'source', op, name: 'files' }]] as const);
  const { tree } = await read(['FROM scratch', 'COPY --from=files a /'], { options: { contexts } });
  expect(vertices(tree)[0]?.op).toMatchObject({ excludePatterns: ['gone'], followPaths: ['a'] });
});

test('named contexts stand for images, for stages and for what is copied from', async () => {
  const contexts = new Map([
    ['debian:12', { kind: 'image', reference: 'golang:1.24' }],
    ['files', { kind: 'source', op: LOCAL, name: '[context files] load from client' }],
    ['stage', { kind: 'result', tree: undefined, image: undefined, isFiles: false }],
  ] as const);
  const { tree, asked } = await read(
    [
      'FROM missing AS stage',
      'RUN never',
      'FROM debian:12',
      'COPY --from=files a /',
      'RUN --mount=from=files,source=b,target=/b x',
      'COPY --from=stage / /',
    ],
    { options: { contexts } },
  );
  expect(asked).toEqual(['docker.io/library/golang:1.24']);
  expect(names(tree)).toEqual([
    '[context debian:12] docker.io/library/golang:1.24',
    '[context files] load from client',
    '[stage-1 1/4] COPY --from=files a /',
    '[stage-1 2/4] RUN --mount=from=files,source=b,target=/b x',
    '[stage-1 3/4] COPY --from=stage / /',
  ]);
  expect(vertices(tree).find(({ op }) => op.kind === 'local')?.op).toEqual({
    ...LOCAL,
    excludePatterns: [],
    followPaths: ['a', 'b'],
  });
});

function buildFor(os: string): { targetPlatform: { os: string; architecture: string } } {
  return { targetPlatform: { os, architecture: 'arm64' } };
}

test('files of a system that nothing here runs: they are copied; commands and drives are refused', async () => {
  const { image } = await read(['FROM scratch', 'COPY a /', 'WORKDIR /b'], { options: buildFor('darwin') });
  expect(image).toMatchObject({ os: 'darwin', architecture: 'arm64', config: { WorkingDir: '/b' } });
  await expect(read(['FROM scratch', 'RUN x'], { options: buildFor('freebsd') })).rejects.toThrow(
    'RUN: commands of freebsd/arm64 cannot be run on this host',
  );
  for (const line of ['COPY a C:/b', 'WORKDIR d:/b']) {
    await expect(read(['FROM scratch', line], { options: buildFor('windows') })).rejects.toThrow(
      'drives and backslashes are not supported',
    );
  }
});

test.each([
  ['FROM', 'dockerfile parse error on line 1: FROM requires at least one argument', 1],
  ['FROM a AS', 'dockerfile parse error on line 1: FROM requires either one or three arguments', 1],
  ['RUN x', 'no build stage in current context', 1],
  ['ARG A', 'dockerfile contains no stages to build', undefined],
  ['FROM $A', 'base name ($A) should not be blank', 1],
  ['FROM --platform=$A debian:12', 'empty platform value from expression $A', 1],
  [
    'FROM debian:12\nRUN --mont=type=tmpfs,target=/a x',
    'dockerfile parse error on line 2: unknown flag: --mont (did you mean mount?)',
    2,
  ],
  ['ARG A=${A:?"give it"}\nFROM debian:$A', 'failed to process "${A:?\\"give it\\"}": A: give it', 1],
  [
    'FROM --platform=$BULIDPLATFORM debian:12',
    'empty platform value from expression $BULIDPLATFORM (did you mean BUILDPLATFORM?)',
    1,
  ],
  [
    'ARG MY_ARCH=amd64\nFROM --platform=linux/${MYARCH} debian:12',
    'failed to parse platform linux/${MYARCH}: "" is an invalid component of "linux/": platform specifier component ' +
      'must match "^[A-Za-z0-9_.-]+$": invalid argument (did you mean MY_ARCH?)',
    2,
  ],
  [
    'FROM no:1',
    'no:1: failed to resolve source metadata for docker.io/library/no:1: docker.io/library/no:1: not found',
    1,
  ],
  ['FROM No', 'invalid reference format: repository name (library/No) must be lowercase', 1],
  [
    'FROM debian:12\nCOPY a',
    'dockerfile parse error on line 2: COPY requires at least two arguments, but only one was provided. ' +
      'Destination could not be determined',
    2,
  ],
  ['FROM debian:12\nRUN []', 'failed to marshal LLB definition: arguments are required', 2],
  [
    'FROM debian:12\nRUN ["a", 1]',
    'when using JSON array syntax, arrays must be comprised of strings only',
    2,
  ],
  [
    'FROM debian:12\nRUN \\\n --network=x y',
    'dockerfile parse error on line 2: unsupported network mode "x"',
    2,
  ],
  [
    'FROM debian:12\nRUN --network=host y',
    'RUN --network=host is not allowed: the build lacks the entitlement network.host',
    2,
  ],
  [
    'FROM debian:12\nRUN --mount=type=cach,target=/a y',
    'unsupported mount type "cach" (did you mean cache?)',
    2,
  ],
  [
    'FROM debian:12\nRUN --mount=targe=/a y',
    "unexpected key 'targe' in 'targe=/a' (did you mean target?)",
    2,
  ],
  ['FROM debian:12\nRUN --mount=target=/ y', 'invalid mount target "/"', 2],
  [
    'FROM debian:12\nRUN --mount=target=/a,from=$X y',
    "'from' doesn't support variable expansion, define alias stage instead",
    2,
  ],
  [
    'FROM debian:12\nCOPY --from=$X a b',
    'variable expansion is not supported for --from, define a new stage with FROM using ARG from global scope ' +
      'as a workaround',
    2,
  ],
  ['FROM debian:12\nCOPY --from=7 a b', 'invalid stage index 7', 2],
  ['FROM debian:12\nCOPY https://x/y b', "source can't be a URL for COPY", 2],
  [
    'FROM debian:12\nCOPY --chmod=99 a b',
    "invalid chmod parameter: '99'. it should be octal string and between 0 and 07777",
    2,
  ],
  ['FROM debian:12\nADD --checksum=sha256:0 https://x/y b', 'invalid checksum digest format: sha256:0', 2],
  [
    'FROM debian:12\nADD --checksum=foobar https://x/y.git b',
    'invalid checksum foobar for Git URL, expected hex commit hash',
    2,
  ],
  ['FROM debian:12\nENV A', 'dockerfile parse error on line 2: ENV must have two arguments', 2],
  ['FROM debian:12\nENV A=${', 'failed to process "${": syntax error: missing \'}\'', 2],
  ['FROM debian:12\nSTOPSIGNAL no', 'Invalid signal: no', 2],
  ['FROM debian:12\nEXPOSE 70000', 'invalid containerPort: 70000', 2],
  [
    'FROM debian:12 AS a\nCOPY --from=b / /\nFROM debian:12 AS b\nCOPY --from=a / /',
    'circular dependency detected on stage: a',
    1,
  ],
  [
    'FROM debian:12 AS a\nCOPY --from=b / /\nFROM debian:12 AS b\nFROM a',
    'cannot copy from stage "b", it needs to be defined before current stage "a"',
    2,
  ],
])('%j is refused, with its place', async (text, message, line) => {
  await expect(read(text)).rejects.toMatchObject({ message, details: line === undefined ? {} : { line } });
});

test('an argument that must be given has no default to be looked at', async () => {
  const given = { options: { args: new Map([['A', '12']]) } };
  const { asked } = await read('ARG A=${A:?"give it"}\nFROM debian:${A:?}', given);
  expect(asked).toEqual(['docker.io/library/debian:12']);
});

test('a target that is not there is refused', async () => {
  await expect(read(THREE, { options: { target: 'd' } })).rejects.toThrow(
    'target stage "d" could not be found',
  );
});

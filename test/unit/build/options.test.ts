import { expect, test } from 'vitest';
import { ignorePatterns } from '../../../daemon/build/control/ignore-file.ts';
import { refuseOtherSyntax } from '../../../daemon/build/control/definition.ts';
import { builtInOptions, readOptions, refuseSyntax } from '../../../daemon/build/control/options.ts';

const read = (attributes: Record<string, string>): ReturnType<typeof readOptions> =>
  readOptions(new Map(Object.entries(attributes)));

test('what clients send is read', () => {
  const options = read({
    filename: 'sub/Dockerfile.x',
    target: 'made',
    'no-cache': 'one,two',
    'context:base': 'docker-image://x',
    'build-arg:BUILDKIT_CACHE_MOUNT_NS': 'space',
    'image-resolve-mode': 'pull',
    'build-arg:A': 'b=c',
    'build-arg:BUILDKIT_MULTI_PLATFORM': '1',
    'label:l': '',
    'add-hosts': 'a=1.2.3.4,b=::1',
    'shm-size': '1024',
    ulimit: 'nofile=1:2,core=3',
    'force-network-mode': 'host',
    platform: 'linux/amd64',
    'frontend.caps': 'moby.buildkit.frontend.inputs',
    'vcs:revision': 'x',
  });
  expect(options).toEqual({
    contextUrl: '',
    isScanned: false,
    isMultiPlatform: true,
    contextSubdirectory: '',
    keepsGitDirectory: false,
    hasOwnDockerfile: false,
    inputConfigs: new Map(),
    localSessions: new Map(),
    filename: 'sub/Dockerfile.x',
    contextName: 'context',
    dockerfileName: 'dockerfile',
    target: 'made',
    noCache: ['one', 'two'],
    pulls: true,
    args: new Map([['A', 'b=c']]),
    labels: new Map([['l', '']]),
    platforms: ['linux/amd64'],
    network: 'host',
    extraHosts: [
      { name: 'a', address: '1.2.3.4' },
      { name: 'b', address: '::1' },
    ],
    shmBytes: 1024,
    ulimits: [
      { name: 'nofile', soft: 1, hard: 2 },
      { name: 'core', soft: 3, hard: 3 },
    ],
    cgroupParent: '',
    contexts: new Map([['base', 'docker-image://x']]),
    hostname: '',
    cacheNamespace: 'space',
    check: '',
    subrequest: '',
    cacheImports: [],
    isCacheInline: false,
  });
  expect(read({ 'no-cache': '' }).noCache).toBe('all');
  expect(read({ hostname: 'foo' }).hostname).toBe('foo');
  expect(read({ hostname: 'bar', 'build-arg:BUILDKIT_SANDBOX_HOSTNAME': 'foo' }).hostname).toBe('foo');
  const elsewhere = read({
    context: 'https://host/repository.git',
    dockerfilekey: 'dockerfile',
    'build-arg:BUILDKIT_CONTEXT_KEEP_GIT_DIR': '1',
    'input-metadata:base': JSON.stringify({ 'containerimage.config': 'e30=', other: 'x' }),
    'local-sessionid:own': 's2',
  });
  expect(elsewhere).toMatchObject({
    contextUrl: 'https://host/repository.git',
    keepsGitDirectory: true,
    hasOwnDockerfile: true,
    inputConfigs: new Map([['base', Buffer.from('{}')]]),
    localSessions: new Map([['own', 's2']]),
  });
});

test.each([
  [{ 'input-metadata:base': 'x' }, 'input-metadata:base: must be JSON of texts in base64'],
  [{ 'input-metadata:base': '{"containerimage.config":1}' }, 'input-metadata:base: must be JSON'],
  [{ 'add-hosts': 'x' }, 'add-hosts x: must be NAME=ADDRESS'],
  [{ 'build-arg:BUILDKIT_MULTI_PLATFORM': 'x' }, 'invalid boolean value for multi-platform: x'],
  [
    { platform: 'linux/amd64,linux/arm64', 'multi-platform': 'false' },
    'conflicting config: returning multiple target platforms is not allowed',
  ],
  [{ 'attest:other': '' }, 'unknown attestation type "other"'],
  [{ 'build-arg:BUILDKIT_SYNTAX': 'other/frontend' }, 'frontend other/frontend is not supported'],
  [{ unknown: 'x' }, 'option unknown=x of the frontend dockerfile.v0'],
  [{ ulimit: 'x' }, 'ulimit x: must be NAME=SOFT:HARD'],
] as [Record<string, string>, string][])('%j is refused by its name', (attributes, why) => {
  expect(() => read(attributes)).toThrow(why);
});

test('the frontend of Dockerfiles is built in under all its names', () => {
  for (const name of [
    'docker/dockerfile:1',
    'docker.io/docker/dockerfile',
    'docker/dockerfile-upstream:master',
  ]) {
    refuseSyntax(name);
  }
  expect(() => refuseSyntax('docker/dockerfile-other:1')).toThrow(
    'docker/dockerfile-other:1 is not supported',
  );
});

test('an image that is to be the frontend is the one that is built in, or refused by its name', () => {
  const options = new Map([
    ['source', 'docker/dockerfile:1.7'],
    ['cmdline', 'docker/dockerfile:1.7'],
    ['target', 'made'],
  ]);
  expect(builtInOptions('gateway.v0', options)).toEqual(new Map([['target', 'made']]));
  expect(builtInOptions('dockerfile.v0', options)).toBe(options);
  expect(() => builtInOptions('gateway.v0', new Map([['source', 'other/frontend:1']]))).toThrow(
    'frontend other/frontend:1 is not supported: only docker/dockerfile is built in',
  );
  expect(() => builtInOptions('other.v1', options)).toThrow('frontend other.v1 is not supported');
});

test('patterns of a .dockerignore, as the client applies them', () => {
  const text = '\uFEFF# no\n *.log \n\n! kept.log\n/a//b/./c/\nx/../y\n# not this\n';
  expect(ignorePatterns(text)).toEqual(['*.log', '!kept.log', 'a/b/c', 'y']);
  expect(() => ignorePatterns('a\n ! \n')).toThrow('illegal exclusion pattern: "!"');
});

test.each([
  [{ 'cache-from': 'registry/app:cache' }, [{ type: 'registry', attributes: { ref: 'registry/app:cache' } }]],
  [
    { 'cache-imports': '[{"Type":"local","Attrs":{"src":"/c"}}]' },
    [{ type: 'local', attributes: { src: '/c' } }],
  ],
  [{ 'cache-imports': '[]' }, []],
  [{ 'cache-imports': 'null' }, []],
])('caches to be imported: %j', (attributes, expected) => {
  const { cacheImports } = read(attributes);
  const plain = cacheImports.map(({ type, attributes: all }) => ({
    type,
    attributes: Object.fromEntries(all),
  }));
  expect(plain).toEqual(expected);
});

test.each(['{}', 'x', '[1]', '[{"Type":1}]', '[{"Type":"local","Attrs":{"a":1}}]'])(
  'caches to be imported that are no list are refused: %s',
  (text) => {
    expect(() => read({ 'cache-imports': text })).toThrow('cache-imports');
  },
);

test('another frontend is refused with the line that names it', () => {
  const text = '# escape=\\\n#syntax=foobar\nFROM scratch\n';
  expect(() => refuseOtherSyntax({ name: 'Dockerfile', text })).toThrow(
    expect.objectContaining({
      message: 'frontend foobar is not supported: only docker/dockerfile is built in',
      source: { filename: 'Dockerfile', data: text, line: 2, endLine: 2 },
    }),
  );
  refuseOtherSyntax({ name: 'Dockerfile', text: 'FROM scratch\n# syntax=foobar\n' });
});

import { expect, test } from 'vitest';
import { operation } from '../../../../daemon/build/llb/messages.ts';
import { readGraph } from '../../../../daemon/build/llb/read-graph.ts';
import { COPY, copy, digestOf, graph, image, local, makeDirectory, on, OWNER, read } from './reading.ts';

test('no operations are an empty tree', () => {
  expect(readGraph(graph([]), OWNER)).toBeUndefined();
});

test('sources: an image with its platform, a directory of a session, a file by HTTP, a repository', () => {
  expect(read(image)).toMatchObject({
    op: { kind: 'image', reference: 'docker.io/library/debian:12', platform: 'linux/arm/v7', mode: 'pull' },
    inputs: [],
    lines: { from: 1, to: 2 },
  });
  expect(read(local)?.op).toEqual({
    kind: 'local',
    name: 'context',
    session: 'other',
    sharedKey: 'context:dir:node',
    includePatterns: [],
    excludePatterns: ['*.log'],
    followPaths: ['a', 'b'],
  });
  const file = {
    identifier: 'https://host/d/f.tar',
    attrs: new Map([
      ['http.perm', '0644'],
      ['http.uid', '7'],
    ]),
  };
  expect(read(operation.encode({ source: file }))?.op).toEqual({
    kind: 'http',
    url: 'https://host/d/f.tar',
    checksum: '',
    fileName: 'f.tar',
    mode: 0o644,
    owner: { uid: 7, gid: 0 },
  });
  const attrs = new Map([
    ['git.fullurl', 'http://host/r.git'],
    ['git.keepgitdir', 'true'],
    ['git.skipsubmodules', 'true'],
  ]);
  expect(read(operation.encode({ source: { identifier: 'git://host/r.git#main:sub', attrs } }))?.op).toEqual({
    kind: 'git',
    remote: 'http://host/r.git',
    ref: 'main',
    subdirectory: 'sub',
    keepsGitDirectory: true,
    skipsSubmodules: true,
    checksum: '',
  });
  const wrong = { identifier: 'git://host/r.git', attrs: new Map([['git.checksum', 'foobar']]) };
  expect(() => read(operation.encode({ source: wrong }))).toThrow('expected hex commit hash');
});

test('file actions: a chain, with what it reads behind the tree that it changes', () => {
  const owner = { user: { byName: { name: 'app' } }, group: { byId: 0 } };
  const files = operation.encode({
    inputs: on(image, local),
    file: {
      actions: [
        {
          input: 0,
          secondaryInput: -1,
          output: -1,
          makeDirectory: { path: '/d', mode: 0o755, makesParents: true, timestamp: -1n },
        },
        {
          input: 2,
          secondaryInput: 1,
          output: -1,
          copy: { src: '/a*', dest: '/d/', mode: -1, timestamp: -1n, owner, ...COPY },
        },
        {
          input: 3,
          secondaryInput: -1,
          output: 0,
          makeFile: { path: 'f', mode: 0o600, data: Buffer.from('text'), timestamp: -1n },
        },
      ],
    },
  });
  const found = read(image, local, files);
  // The account files are looked at in the tree that is named.
  expect(found?.inputs.map((input) => input?.op.kind)).toEqual(['image', 'local', 'image']);
  expect(found?.op).toMatchObject({
    kind: 'files',
    actions: [
      { action: 'mkdir', path: '/d', mode: 0o755, owner: '', parents: 'same' },
      {
        action: 'copy',
        from: 1,
        sources: ['/a*'],
        destination: '/d/',
        owner: 'app:0',
        accounts: 2,
        chmod: '',
      },
      { action: 'mkfile', path: '/f', content: 'text', mode: 0o600 },
    ],
  });
});

test('a command: its root, what is mounted, variables and proxies', () => {
  const meta = {
    args: ['/bin/sh', '-c', 'make'],
    env: ['A=b'],
    cwd: '/src',
    user: 'app',
    proxyEnv: { httpProxy: 'http://p' },
    extraHosts: [{ host: 'h', ip: '10.0.0.1' }],
  };
  const exec = operation.encode({
    inputs: on(image, local),
    exec: {
      meta,
      network: 2,
      secretEnv: [{ id: 'token', name: 'TOKEN', isOptional: true }],
      devices: [{ name: 'v.com/d=one' }, { name: 'v.com/d=two', isOptional: true }],
      mounts: [
        { input: 0, dest: '/', output: 0 },
        { input: 1, selector: 'sub', dest: '/src', output: -1, isReadonly: true },
        { input: -1, dest: '/scratch', output: -1 },
        { input: -1, dest: '/cache', output: -1, type: 3, cache: { id: 'c', sharing: 2 } },
        { input: -1, dest: '/tmp', output: -1, type: 4, tmpfs: { size: 4096 } },
        { input: -1, dest: '/s', output: -1, type: 1, secret: { id: 'one', mode: 0o400 } },
        {
          input: -1,
          dest: '/agent',
          output: -1,
          type: 2,
          ssh: { id: 'default', mode: 0o600, isOptional: true },
        },
      ],
    },
  });
  const found = read(image, local, exec);
  expect(found?.inputs.map((input) => input?.op.kind)).toEqual(['image', 'local', undefined]);
  expect(found?.op).toMatchObject({
    kind: 'exec',
    argv: meta.args,
    quietEnv: ['HTTP_PROXY=http://p', 'http_proxy=http://p'],
    network: 'none',
    extraHosts: [{ name: 'h', address: '10.0.0.1' }],
    mounts: [
      { type: 'bind', from: 1, source: '/sub', target: '/src', isWritable: false },
      { type: 'bind', from: 2, source: '/', target: '/scratch', isWritable: true },
      { type: 'cache', id: 'c', sharing: 'locked', target: '/cache' },
      { type: 'tmpfs', target: '/tmp', sizeBytes: 4096 },
      { type: 'secret', id: 'one', target: '/s', isRequired: true, mode: 0o400 },
      { type: 'ssh', id: 'default', target: '/agent', isRequired: false },
      { type: 'secret', id: 'token', env: 'TOKEN', isRequired: false },
    ],
    devices: [
      { name: 'v.com/d=one', isRequired: true, isAllowed: false },
      { name: 'v.com/d=two', isRequired: false, isAllowed: false },
    ],
  });
});

test('a cache whose tree has nothing but its directory begins empty, as that directory is', () => {
  const made = {
    path: '/cache',
    mode: 0o750,
    timestamp: -1n,
    owner: { user: { byId: 7 }, group: { byId: 8 } },
  };
  const seed = operation.encode({
    file: { actions: [{ input: -1, secondaryInput: -1, output: 0, makeDirectory: made }] },
  });
  const mount = { input: 1, selector: '/cache', dest: '/c', output: -1, type: 3, cache: { id: 'c' } };
  const exec = operation.encode({
    inputs: on(image, seed),
    exec: { meta: { args: ['true'] }, mounts: [{ input: 0, dest: '/', output: 0 }, mount] },
  });
  const found = read(image, seed, exec);
  expect(found?.inputs.map((input) => input?.op.kind)).toEqual(['image']);
  expect(found?.op).toMatchObject({
    mounts: [
      { type: 'cache', id: 'c', sharing: 'shared', source: '/', mode: 0o750, owner: { uid: 7, gid: 8 } },
    ],
  });
});

test('trees one on the other; an empty one adds nothing', () => {
  const merge = operation.encode({
    inputs: on(image, local),
    merge: { inputs: [{ input: 0 }, { input: -1 }, { input: 1 }] },
  });
  const found = read(image, local, merge);
  expect([found?.op.kind, found?.inputs.map((input) => input?.op.kind)]).toEqual([
    'merge',
    ['image', 'local'],
  ]);
});

test('what is said of an operation: its name, that it is to be done anew', () => {
  const notes = { 0: { isFresh: true, description: new Map([['llb.customname', 'FROM debian']]) } };
  expect(readGraph(graph([image], notes), OWNER)).toMatchObject({ name: 'FROM debian', isFresh: true });
});

test('an image in a layout of the client, an upper bound of layers, hosts that are known', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const layout = {
    identifier: `oci-layout://not/real:1@${digest}`,
    attrs: new Map([
      ['oci.store', 'mine'],
      ['oci.layerlimit', '2'],
    ]),
  };
  expect(read(operation.encode({ source: layout }))?.op).toEqual({
    kind: 'layout',
    store: 'mine',
    digest,
    session: 's1',
    platform: 'linux/amd64',
    layerLimit: 2,
  });
  const some = {
    identifier: 'docker-image://docker.io/library/a:1',
    attrs: new Map([['image.layerlimit', '3']]),
  };
  expect(read(operation.encode({ source: some }))?.op).toMatchObject({ mode: 'local', layerLimit: 3 });
  const attrs = new Map([['git.knownsshhosts', 'host ssh-ed25519 AAAA']]);
  expect(read(operation.encode({ source: { identifier: 'git://host/r', attrs } }))?.op).toMatchObject({
    knownHosts: 'host ssh-ed25519 AAAA',
  });
});

test('file actions that branch are as many vertices as there are trees; each has its own number', () => {
  const branching = operation.encode({
    inputs: on(image),
    file: {
      actions: [
        { input: 0, secondaryInput: -1, output: -1, makeDirectory },
        { input: 1, secondaryInput: -1, output: 1, remove: { path: '/x', mayMiss: true } },
        { input: 1, secondaryInput: 2, output: 0, copy },
        { input: -1, secondaryInput: -1, output: 2, symlink: { path: '/l', target: 't', timestamp: 0n } },
      ],
    },
  });
  const resultAt = (index: number): ReturnType<typeof readGraph> =>
    readGraph(
      {
        ...graph([]),
        operations: [
          image,
          branching,
          operation.encode({ inputs: [{ digest: digestOf(branching), index }] }),
        ],
      },
      OWNER,
    );
  const [first, second, third] = [resultAt(0), resultAt(1), resultAt(2)];
  expect(first?.op).toMatchObject({ actions: [{ action: 'copy', from: 1 }] });
  expect(first?.inputs.map((input) => input?.op)).toMatchObject([
    { actions: [{ action: 'mkdir' }] },
    { actions: [{ action: 'rm', path: '/x', isPattern: false, mayMiss: true }] },
  ]);
  expect(second?.inputs[0]?.op).toMatchObject({ actions: [{ action: 'mkdir' }] });
  expect([third?.op, third?.inputs]).toMatchObject([
    { actions: [{ action: 'symlink', target: 't', mtime: { seconds: 0, nanoseconds: 0 } }] },
    [undefined],
  ]);
  expect(() => resultAt(3)).toThrow('has no result 3');
});

test('a copy says all that COPY leaves no choice of', () => {
  const asked = { src: '/a[1]/..//b*', dest: 'x/.', timestamp: -1_500_000_000n, mode: 0o4755 };
  const files = operation.encode({
    inputs: on(image),
    file: {
      actions: [
        { input: -1, secondaryInput: 0, output: 0, copy: { ...asked, unpacks: true, replaces: true } },
      ],
    },
  });
  expect(read(image, files)?.op).toEqual({
    kind: 'files',
    actions: [
      {
        action: 'copy',
        from: 1,
        sources: [String.raw`/b\*`],
        destination: '/x/',
        chmod: '4755',
        unpacks: true,
        keepsParents: false,
        exclude: [],
        owner: '',
        mtime: { seconds: -2, nanoseconds: 500_000_000 },
        exact: {
          followsLinks: false,
          copiesContents: false,
          makesParents: false,
          mustMatch: false,
          include: [],
          replaces: true,
        },
      },
    ],
  });
});

test('a command with results of mounts: vertices of their own on it', () => {
  const exec = operation.encode({
    inputs: on(image, local),
    exec: {
      meta: { args: ['true'], validExitCodes: [3, 0, 3], removesStubParents: true },
      mounts: [
        { input: 0, dest: '/', output: 1, isReadonly: true },
        { input: 1, dest: '/x', output: 0 },
        { input: 1, dest: '/y', output: -1, contentCache: 2 },
        // Clients leave it out where there is none.
        { input: -1, dest: '/t', type: 4 },
      ],
    },
  });
  const found = read(image, local, exec);
  expect(found).toMatchObject({ op: { kind: 'result', number: 0 }, isUnrecorded: true });
  expect(found?.inputs[0]?.op).toMatchObject({
    isRootReadonly: true,
    validExitCodes: [0, 3],
    mounts: [
      { type: 'bind', target: '/x', result: 0 },
      { type: 'bind', target: '/y', isWhole: true },
      { type: 'tmpfs' },
    ],
  });
  expect(found?.inputs[0]?.op).not.toHaveProperty('keepsStubParents');
});

const diff = (lower: number, upper: number): Buffer =>
  operation.encode({
    inputs: on(image, local),
    diff: { lower: { input: lower }, upper: { input: upper } },
  });

test.each([
  ['none', true],
  ['metadata', false],
])('a directory with local.differ=%s: whether all of it is sent anew is %s', (differ, expected) => {
  const source = { identifier: 'local://context', attrs: new Map([['local.differ', differ]]) };
  const op = read(operation.encode({ source }))?.op;
  expect(op?.kind === 'local' && op.isSentAnew === true).toBe(expected);
});

test('a difference; that of nothing is all, that of equals is nothing', () => {
  expect(read(image, local, diff(0, 1))).toMatchObject({
    op: { kind: 'diff' },
    inputs: [{ op: { kind: 'image' } }, { op: { kind: 'local' } }],
  });
  expect(read(image, local, diff(0, 1))?.op).toEqual({ kind: 'diff', hasDeletions: false });
  const made = diff(0, 1);
  const merge = operation.encode({
    inputs: on(made, image),
    merge: { inputs: [{ input: 0 }, { input: 1 }, { input: 0 }] },
  });
  // What it deletes counts above others.
  expect(read(image, local, made, merge)).toMatchObject({
    inputs: [
      { op: { kind: 'merge' }, inputs: [{ op: { hasDeletions: false } }, { op: { kind: 'image' } }] },
      { op: { hasDeletions: true } },
    ],
  });
  expect(read(image, local, diff(-1, 1))?.op.kind).toBe('local');
  expect(read(image, local, diff(0, 0))).toBeUndefined();
  expect(read(image, local, diff(0, -1))?.inputs).toMatchObject([{ op: { kind: 'image' } }, undefined]);
});

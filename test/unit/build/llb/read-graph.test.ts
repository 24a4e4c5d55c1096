import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { LLB_CAPABILITIES } from '../../../../api/types/build/capabilities.ts';
import type { BuildDefinition, OperationNotes } from '../../../../api/types/build/definition.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { operation } from '../../../../daemon/build/llb/messages.ts';
import { readGraph } from '../../../../daemon/build/llb/read-graph.ts';

const OWNER = { session: 's1', sharedKey: 'dir:node', platform: 'linux/amd64', entitlements: [] };
type Sent = Parameters<typeof operation.encode>[0];

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const on = (...below: Buffer[]): { digest: string }[] => below.map((bytes) => ({ digest: digestOf(bytes) }));

/** A graph of these operations, the last of which is its result. */
function graph(
  operations: readonly Buffer[],
  notes: Record<number, Partial<OperationNotes>> = {},
): BuildDefinition {
  const last = operations.at(-1);
  const all = last === undefined ? [] : [...operations, operation.encode({ inputs: on(last) })];
  return {
    operations: all,
    notes: new Map(
      Object.entries(notes).map(([index, note]) => [
        digestOf(operations[Number(index)] ?? Buffer.alloc(0)),
        { isFresh: false, description: new Map(), capabilities: [], ...note },
      ]),
    ),
    files: [{ name: 'Dockerfile', data: 'FROM x\n' }],
    places: new Map([[digestOf(operations[0] ?? Buffer.alloc(0)), [{ file: 0, from: 1, to: 2 }]]]),
  };
}

const image = operation.encode({
  source: {
    identifier: 'docker-image://docker.io/library/debian:12',
    attrs: new Map([['image.resolvemode', 'pull']]),
  },
  platform: { os: 'linux', architecture: 'arm', variant: 'v7' },
});
const local = operation.encode({
  source: {
    identifier: 'local://context',
    attrs: new Map([
      ['local.session', 'other'],
      ['local.unique', 'x'],
      ['local.followpaths', '["a","b"]'],
      ['local.excludepatterns', '["*.log"]'],
      ['local.sharedkeyhint', 'context'],
    ]),
  },
});
const COPY = {
  followsSymlink: true,
  copiesContents: true,
  makesParents: true,
  allowsWildcard: true,
  allowsEmptyWildcard: true,
};

function read(...operations: Buffer[]): ReturnType<typeof readGraph> {
  return readGraph(graph(operations), OWNER);
}

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
  ]);
  expect(read(operation.encode({ source: { identifier: 'git://host/r.git#main:sub', attrs } }))?.op).toEqual({
    kind: 'git',
    remote: 'http://host/r.git',
    ref: 'main',
    subdirectory: 'sub',
    keepsGitDirectory: true,
    checksum: '',
  });
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
          makeDirectory: { path: '/d', mode: 0o755, makesParents: true, timestamp: -1 },
        },
        {
          input: 2,
          secondaryInput: 1,
          output: -1,
          copy: { src: '/a*', dest: '/d/', mode: -1, timestamp: -1, owner, ...COPY },
        },
        {
          input: 3,
          secondaryInput: -1,
          output: 0,
          makeFile: { path: 'f', mode: 0o600, data: Buffer.from('text'), timestamp: -1 },
        },
      ],
    },
  });
  const found = read(image, local, files);
  expect(found?.inputs.map((input) => input?.op.kind)).toEqual(['image', 'local']);
  expect(found?.op).toMatchObject({
    kind: 'files',
    actions: [
      { action: 'mkdir', path: '/d', mode: 0o755, owner: '' },
      { action: 'copy', from: 1, sources: ['/a*'], destination: '/d/', owner: 'app:0', chmod: '' },
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
  });
});

test('a cache whose tree has nothing but its directory begins empty, as that directory is', () => {
  const made = {
    path: '/cache',
    mode: 0o750,
    timestamp: -1,
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

const makeDirectory = { path: '/d', mode: 0o755, timestamp: -1 };
const copy = { src: '/a', dest: '/b', mode: -1, timestamp: -1, ...COPY };
const root = { input: 0, dest: '/', output: 0 };
const meta = { args: ['true'] };

test.each<[string, Sent, string]>([
  [
    'an unknown scheme',
    { source: { identifier: 'oci-layout://x' } },
    'source oci-layout://x is not supported',
  ],
  [
    'an unknown attribute',
    { source: { identifier: 'local://c', attrs: new Map([['local.new', '1']]) } },
    'attribute local.new=1 is not supported',
  ],
  [
    'patterns that are no list',
    { source: { identifier: 'local://c', attrs: new Map([['local.followpaths', '{}']]) } },
    'local.followpaths "{}": must be a list',
  ],
  [
    'a file name with a slash',
    { source: { identifier: 'http://h/f', attrs: new Map([['http.filename', '../f']]) } },
    'http.filename "../f": must be a name',
  ],
  ['an option as a reference', { source: { identifier: 'git://h/r#-x' } }, 'invalid reference -x'],
  ['a diff', { diff: Buffer.from('') }, 'operations of kind diff are not supported'],
  ['a build', { build: Buffer.from('') }, 'operations of kind build are not supported'],
  ['nothing', {}, 'operations of kind unknown are not supported'],
  ['no actions', { inputs: on(image), file: {} }, 'a file operation without actions'],
  [
    'rm',
    { inputs: on(image), file: { actions: [{ output: 0, remove: Buffer.from('') }] } },
    'file action rm is not supported',
  ],
  [
    'symlink',
    { inputs: on(image), file: { actions: [{ output: 0, symlink: Buffer.from('') }] } },
    'file action symlink is not supported',
  ],
  [
    'branching actions',
    {
      inputs: on(image),
      file: {
        actions: [
          { output: 0, makeDirectory },
          { input: 0, output: 1, makeDirectory },
        ],
      },
    },
    'whose actions are no chain',
  ],
  [
    'a time',
    {
      inputs: on(image),
      file: { actions: [{ output: 0, makeDirectory: { ...makeDirectory, timestamp: 5 } }] },
    },
    'timestamp 5',
  ],
  [
    'a mode',
    {
      inputs: on(image),
      file: { actions: [{ output: 0, makeDirectory: { ...makeDirectory, mode: 0o10000 } }] },
    },
    'mode 4096 of /d',
  ],
  [
    'include patterns',
    { inputs: on(image), file: { actions: [{ output: 0, copy: { ...copy, include: ['x'] } }] } },
    'include patterns',
  ],
  [
    'links that are not followed',
    { inputs: on(image), file: { actions: [{ output: 0, copy: { ...copy, followsSymlink: false } }] } },
    'without followSymlink',
  ],
  [
    'an input that is not there',
    { inputs: on(image), file: { actions: [{ output: 0, secondaryInput: 3, copy }] } },
    'input 3 of an operation that has 1',
  ],
  ['no root', { inputs: on(image), exec: { meta, mounts: [] } }, 'whose root is no tree'],
  [
    'the host',
    { inputs: on(image), exec: { meta, network: 1, mounts: [root] } },
    'network.host is not allowed',
  ],
  [
    'all rights',
    { inputs: on(image), exec: { meta, security: 1, mounts: [root] } },
    'security.insecure is not allowed',
  ],
  [
    'a result of a mount',
    { inputs: on(image), exec: { meta, mounts: [root, { input: 0, dest: '/x', output: 1 }] } },
    'the result of mount /x is not supported',
  ],
  ['no arguments', { inputs: on(image), exec: { meta: {}, mounts: [root] } }, 'a command without arguments'],
])('%s is refused', (_what, sent, problem) => {
  expect(() => read(image, operation.encode(sent))).toThrow(problem);
});

test('what is no graph is refused', () => {
  const lonely = operation.encode({ inputs: [{ digest: 'sha256:none' }] });
  expect(() => readGraph({ ...graph([]), operations: [lonely] }, OWNER)).toThrow(
    'sha256:none is no operation before it',
  );
  expect(() => readGraph({ ...graph([]), operations: [image] }, OWNER)).toThrow('the last of a graph');
  expect(() => readGraph({ ...graph([]), operations: [Buffer.from([0xff])] }, OWNER)).toThrow(
    'operation sha256:',
  );
  const second = operation.encode({ inputs: [{ digest: digestOf(image), index: 1 }] });
  expect(() => readGraph({ ...graph([]), operations: [image, second] }, OWNER)).toThrow('results of mounts');
  const many = Array.from({ length: limits.llbOperationsMax + 1 }, () => image);
  expect(() => readGraph({ ...graph([]), operations: many }, OWNER)).toThrow('a graph of more than');
});

test('what an operation needs and is not there is refused by its name', () => {
  const notes = { 0: { capabilities: ['source.image', 'exec.meta.cdi'] } };
  expect(() => readGraph(graph([image], notes), OWNER)).toThrow('capability exec.meta.cdi of a graph (LLB)');
  expect(readGraph(graph([image], { 0: { capabilities: [...LLB_CAPABILITIES] } }), OWNER)).toBeDefined();
});

import { expect, test } from 'vitest';
import { DefinitionKeys } from '../../../daemon/build/graph/key.ts';
import type { CopyFiles, ExecOp, Op, Vertex } from '../../../daemon/build/graph/op.ts';

const BASE: Vertex = vertex({ kind: 'image', reference: 'r:1', platform: 'linux/amd64', mode: 'local' });
const EXEC: ExecOp = {
  kind: 'exec',
  argv: ['/bin/sh', '-c', 'make'],
  env: ['A=1'],
  quietEnv: ['http_proxy=p'],
  directory: '/w',
  user: 'u',
  network: 'default',
  isPrivileged: false,
  hostname: 'h',
  extraHosts: [{ name: 'x', address: '10.0.0.1' }],
  shmBytes: 64,
  ulimits: [{ name: 'nofile', soft: 1, hard: 2 }],
  cgroupParent: 'c',
  mounts: [
    { type: 'bind', from: 1, source: '/s', target: '/t', isWritable: false },
    { type: 'tmpfs', target: '/m', sizeBytes: 5 },
    {
      type: 'cache',
      id: 'i',
      sharing: 'shared',
      from: 1,
      source: '/',
      target: '/c',
      isWritable: true,
      owner: { uid: 1, gid: 2 },
      mode: 0o755,
    },
    {
      type: 'secret',
      id: 's',
      target: '/run/s',
      env: 'S',
      isRequired: true,
      owner: { uid: 0, gid: 0 },
      mode: 0o400,
    },
    { type: 'bind', from: 2, source: '/', target: '/r', isWritable: true, result: 1, isWhole: true },
  ],
  isRootReadonly: true,
  validExitCodes: [0, 3],
  keepsStubParents: true,
};
const TIME = { seconds: 5, nanoseconds: 7 };
const OPS: readonly Op[] = [
  BASE.op,
  EXEC,
  { kind: 'merge' },
  { kind: 'diff', hasDeletions: true },
  { kind: 'result', number: 1 },
  {
    kind: 'local',
    name: 'context',
    session: 's',
    sharedKey: 'k',
    includePatterns: ['i'],
    excludePatterns: ['e'],
    followPaths: ['f'],
    isSentAnew: true,
  },
  { kind: 'http', url: 'u', checksum: 'c', fileName: 'f', mode: 0o600, owner: { uid: 1, gid: 2 } },
  {
    kind: 'git',
    remote: 'r',
    ref: 'm',
    subdirectory: 'd',
    keepsGitDirectory: false,
    checksum: '',
    secrets: { token: 't', header: 'h' },
    agent: 'a',
    knownHosts: 'k',
  },
  {
    kind: 'image',
    reference: 'r:1',
    platform: 'linux/amd64',
    mode: 'pull',
    layerLimit: 2,
  },
  { kind: 'layout', store: 's', digest: 'd', session: 'i', platform: 'linux/amd64', layerLimit: 2 },
  {
    kind: 'files',
    actions: [
      { action: 'mkdir', path: '/p', mode: 0o755, owner: '', parents: 'same', mtime: TIME },
      { action: 'mkfile', path: '/f', content: 'text', mode: 0o644, owner: 'u', accounts: 1 },
      {
        action: 'mkfile',
        path: '/g',
        content: 'dGV4dA==',
        isBase64: true,
        mode: 0,
        owner: '',
        needsParent: true,
      },
      { action: 'symlink', path: '/l', target: 't', owner: '' },
      { action: 'rm', path: '/r', isPattern: false, mayMiss: true },
      {
        action: 'copy',
        from: 1,
        sources: ['a', 'b'],
        destination: '/d/',
        owner: '1:1',
        chmod: 'u+x',
        unpacks: true,
        keepsParents: false,
        exclude: ['*.o'],
        mtime: TIME,
        exact: {
          followsLinks: true,
          copiesContents: false,
          makesParents: true,
          mustMatch: false,
          include: ['*.c'],
          replaces: true,
        },
      },
    ],
  },
];

function vertex(op: Op, inputs: Vertex['inputs'] = [], name = 'n'): Vertex {
  return { op, inputs, name };
}

const keyOf = (of: Vertex): string => new DefinitionKeys().of(of);
const keyOfCopy = (action: CopyFiles): string => keyOf(vertex({ kind: 'files', actions: [action] }, [BASE]));

/** All values that differ from `value` in one place: a leaf changed, an item gone, two items exchanged. */
function variants(value: unknown): unknown[] {
  if (Array.isArray(value)) {
    const items: unknown[] = value;
    const changed = items.flatMap((item, at) => variants(item).map((other) => items.with(at, other)));
    const gone = items.map((_, at) => items.toSpliced(at, 1));
    const swapped = items.slice(1).map((item, at) => items.with(at, item).with(at + 1, items[at]));
    return [...changed, ...gone, ...swapped, [...items, 'more']];
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .filter(([name]) => name !== 'quietEnv')
      .flatMap(([name, item]) => variants(item).map((other) => ({ ...value, [name]: other })));
  }
  return typeof value === 'number'
    ? [value + 1]
    : typeof value === 'boolean'
      ? [!value]
      : [`${String(value)}x`, ''];
}

/** The same with its properties in the opposite order, at each depth. */
function reversed<T>(value: T): T {
  if (Array.isArray(value)) {
    // The same items, so the same type.
    return value.map(reversed) as T;
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  // The same properties, so the same type.
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, item]) => [name, reversed(item)]),
  ) as T;
}

test.each(OPS.map((op) => [op.kind, op] as const))('%s: each change of it has a key of its own', (_, op) => {
  const texts = new Map([op, ...variants(op)].map((other) => [JSON.stringify(other), other]));
  // Variants are operations but for the values in them, which a key does not judge.
  const keys = [...texts.values()].map((other) => keyOf(vertex(other as Op, [BASE])));
  expect(new Set(keys).size).toBe(texts.size);
});

test.each(OPS.map((op) => [op.kind, op] as const))('%s: the order of its properties is nothing', (_, op) => {
  expect(keyOf(vertex(reversed(op), [BASE]))).toBe(keyOf(vertex(op, [BASE])));
});

test('the order of variables is nothing, each of them is something', () => {
  const keys = [['A=1', 'B=2'], ['B=2', 'A=1'], ['A=1']].map((env) =>
    keyOf(vertex({ ...EXEC, env }, [BASE])),
  );
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});

test('the classic builder has a key of its own only where archives may be unpacked with an owner', () => {
  const copy: CopyFiles = {
    action: 'copy',
    from: 1,
    sources: ['a'],
    destination: '/d/',
    owner: '',
    chmod: '',
    unpacks: false,
    keepsParents: false,
    exclude: [],
  };
  const owners = ['', '1:2'].flatMap((owner) => [false, true].map((unpacks) => ({ owner, unpacks })));
  expect(
    owners.map((facts) => [
      facts,
      keyOfCopy({ ...copy, ...facts }) === keyOfCopy({ ...copy, ...facts, isClassic: true }),
    ]),
  ).toEqual(owners.map((facts) => [facts, !(facts.owner !== '' && facts.unpacks)]));
});

test('inputs count: each of them, their places, and whether one is there', () => {
  const other = vertex({ kind: 'merge' }, [BASE, BASE]);
  const inputs: Vertex['inputs'][] = [
    [],
    [undefined],
    [BASE],
    [undefined, BASE],
    [BASE, undefined],
    [BASE, other],
    [other, BASE],
    [vertex(EXEC, [BASE]), other],
    [vertex({ ...EXEC, user: 'v' }, [BASE]), other],
  ];
  expect(new Set(inputs.map((list) => keyOf(vertex(EXEC, list)))).size).toBe(inputs.length);
});

test('names, lines, proxies and --no-cache are nothing, at any depth', () => {
  const base = { ...BASE, name: 'other', lines: { from: 3, to: 4 }, isFresh: true };
  const op = { ...EXEC, quietEnv: [] };
  expect(keyOf(vertex(op, [base], 'm'))).toBe(keyOf(vertex(EXEC, [BASE])));
});

test('what is undefined is the same as what is not there', () => {
  const { shmBytes: _, ...without } = EXEC;
  const held: Record<string, unknown> = { ...without, shmBytes: undefined };
  // An undefined property, which the types forbid and a caller in the middle of a spread may make.
  expect(keyOf(vertex(held as unknown as Op))).toBe(keyOf(vertex(without)));
});

test('a graph in which everything is shared, and one 20,000 steps deep, are read in one pass', () => {
  let shared: Vertex = BASE;
  for (let at = 0; at < 20_000; at += 1) {
    shared = vertex({ kind: 'merge' }, [shared, shared]);
  }
  expect(keyOf(shared)).toMatch(/^sha256:[0-9a-f]{64}$/);
});

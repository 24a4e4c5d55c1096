import { expect, test } from 'vitest';
import { LLB_CAPABILITIES } from '../../../../api/types/build/capabilities.ts';
import { isEngineError } from '../../../../daemon/base/errors.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { operation } from '../../../../daemon/build/llb/messages.ts';
import { readGraph } from '../../../../daemon/build/llb/read-graph.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import {
  copy,
  digestOf,
  graph,
  image,
  local,
  makeDirectory,
  meta,
  on,
  OWNER,
  read,
  root,
  type Sent,
} from './reading.ts';

test.each<[string, Sent, string]>([
  ['an unknown scheme', { source: { identifier: 'ftp://x' } }, 'source ftp://x is not supported'],
  [
    'a layout without a digest',
    { source: { identifier: 'oci-layout://x:1' } },
    'oci-layout://x:1: must be a reference with a digest',
  ],
  [
    'no layers at all',
    { source: { identifier: 'docker-image://a', attrs: new Map([['image.layerlimit', '0']]) } },
    'image.layerlimit 0: must be more than 0',
  ],
  [
    'another way to resolve',
    { source: { identifier: 'docker-image://a', attrs: new Map([['image.resolvemode', 'x']]) } },
    'image.resolvemode "x"',
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
  ['a build', { build: Buffer.from('') }, 'operations of kind build are not supported'],
  ['nothing', {}, 'operations of kind unknown are not supported'],
  ['no actions', { inputs: on(image), file: {} }, 'a file operation without actions'],
  [
    'a link to nothing',
    { inputs: on(image), file: { actions: [{ output: 0, symlink: { path: '/l' } }] } },
    'symlink.oldpath',
  ],
  [
    'an action of an unknown kind',
    { inputs: on(image), file: { actions: [{ output: 0 }] } },
    'file actions of an unknown kind',
  ],
  [
    'two results of one number',
    {
      inputs: on(image),
      file: {
        actions: [
          { output: 0, makeDirectory },
          { input: 0, output: 0, makeDirectory },
        ],
      },
    },
    'file action 1: output 0 is that of another action',
  ],
  [
    'a result without the one before it',
    {
      inputs: on(image),
      file: {
        actions: [
          { output: 1, makeDirectory },
          { output: -1, makeDirectory },
        ],
      },
    },
    'a file operation without output 0 has others',
  ],
  [
    'no result at all',
    { inputs: on(image), file: { actions: [{ output: -1, makeDirectory }] } },
    'a file operation without outputs',
  ],
  [
    'actions that stand on each other',
    {
      inputs: on(image),
      file: {
        actions: [
          { input: 2, output: 0, makeDirectory },
          { input: 1, output: -1, makeDirectory },
        ],
      },
    },
    'file action 0: its input leads back to itself',
  ],
  [
    'an owner in no tree',
    {
      inputs: on(image),
      file: {
        actions: [
          {
            output: 0,
            makeDirectory: { ...makeDirectory, owner: { user: { byName: { name: 'a', input: -1 } } } },
          },
        ],
      },
    },
    'owner: invalid user index -1',
  ],
  [
    'a NUL in a path',
    { inputs: on(image), file: { actions: [{ output: 0, remove: { path: 'a\0b' } }] } },
    'rm.path "a\\u0000b": must have no NUL',
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
    'a pattern that cannot be read',
    { inputs: on(image), file: { actions: [{ output: 0, copy: { ...copy, include: ['[x'] } }] } },
    'copy.include_patterns',
  ],
  [
    'an input that is not there',
    { inputs: on(image), file: { actions: [{ output: 0, secondaryInput: 3, copy }] } },
    'file action 0: secondaryInput 3 of 1 inputs and 1 actions',
  ],
  ['no root', { inputs: on(image), exec: { meta, mounts: [] } }, 'mounts: none of a command is at /'],
  [
    'two roots',
    { inputs: on(image), exec: { meta, mounts: [root, { ...root, dest: '/x/..' }] } },
    'mounts: more than one of a command is at /',
  ],
  [
    'a part of a tree as root',
    { inputs: on(image), exec: { meta, mounts: [{ ...root, selector: 's' }] } },
    'a root that is no whole tree',
  ],
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
    'a result beyond all mounts',
    { inputs: on(image), exec: { meta, mounts: [root, { input: 0, dest: '/x', output: 2 }] } },
    'mount /x: output 2 of 2 mounts',
  ],
  [
    'two mounts that are one result',
    { inputs: on(image), exec: { meta, mounts: [root, { input: 0, dest: '/x', output: 0 }] } },
    'mount /x: output 0 is that of another mount',
  ],
  [
    'an exit code that is none',
    { inputs: on(image), exec: { meta: { ...meta, validExitCodes: [256] }, mounts: [root] } },
    'validExitCodes: 256 must be between 0 and 255',
  ],
  [
    'a diff of an input that is not there',
    { inputs: on(image), diff: { lower: { input: 0 }, upper: { input: 1 } } },
    'input 1 of an operation that has 1',
  ],
  [
    'two kinds at once',
    { inputs: on(image), exec: { meta, mounts: [root] }, merge: { inputs: [{ input: 0 }] } },
    'it is of more than one kind',
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
  expect(() => readGraph({ ...graph([]), operations: [image, second] }, OWNER)).toThrow(
    /input sha256:[0-9a-f]{64} has no result 1/,
  );
  const many = Array.from({ length: limits.llbOperationsMax + 1 }, () => image);
  expect(() => readGraph({ ...graph([]), operations: many }, OWNER)).toThrow('a graph of more than');
});

test('what an operation needs and is not there is refused by its name', () => {
  const notes = { 0: { capabilities: ['source.image', 'source.http.header'] } };
  expect(() => readGraph(graph([image], notes), OWNER)).toThrow(
    'capability source.http.header of a graph (LLB)',
  );
  expect(readGraph(graph([image], { 0: { capabilities: [...LLB_CAPABILITIES] } }), OWNER)).toBeDefined();
});

/** What a hostile client may put into a field. */
const NUMBERS = [-2, -1, 0, 1, 2, 3, 7, 255, 1_000, 2 ** 31, 2 ** 53 - 1];
const TEXTS = [
  '',
  '/',
  '..',
  '/../..',
  'a\0b',
  '[',
  '\\',
  '*'.repeat(20),
  'x'.repeat(3_000),
  '\u{10ffff}',
  '-x',
];

test('2,000 graphs of nonsense: an answer or a refusal that names something, never anything else', () => {
  for (let seed = 1; seed <= 2_000; seed += 1) {
    const random = new SeededRandom(seed);
    const one = <T>(all: readonly T[]): T => all[random.below(all.length)]!;
    const number = (): number => one(NUMBERS);
    const word = (): string => one(TEXTS);
    const list = <T>(make: () => T): T[] => Array.from({ length: random.below(4) }, make);
    const owner = (): object => ({
      user: { byName: { name: word(), input: number() } },
      group: { byId: random.below(9) },
    });
    const made = (): object => ({
      path: word(),
      mode: number(),
      owner: owner(),
      timestamp: BigInt(number()),
    });
    const kinds: (() => object)[] = [
      () => ({
        copy: {
          ...made(),
          src: word(),
          dest: word(),
          include: list(word),
          exclude: list(word),
          modeText: word(),
        },
      }),
      () => ({ makeFile: { ...made(), data: Buffer.from(random.bytes(random.below(9))) } }),
      () => ({ makeDirectory: { ...made(), makesParents: one([true, false]) } }),
      () => ({ symlink: { ...made(), target: word() } }),
      () => ({ remove: { path: word(), allowsWildcard: one([true, false]) } }),
      () => ({}),
    ];
    const action = (): object => ({
      input: number(),
      secondaryInput: number(),
      output: number(),
      ...one(kinds)(),
    });
    const mount = (): object => ({
      input: number(),
      dest: word(),
      selector: word(),
      output: number(),
      type: number(),
      cache: { id: word(), sharing: number() },
      tmpfs: { size: number() },
    });
    const command = (): object => ({ args: list(word), cwd: word(), validExitCodes: list(number) });
    const operations: Buffer[] = [];
    const sent = one<() => object>([
      () => ({ file: { actions: list(action) } }),
      () => ({
        exec: { meta: command(), network: number(), security: number(), mounts: [root, ...list(mount)] },
      }),
      () => ({ merge: { inputs: list(() => ({ input: number() })) } }),
      () => ({ diff: { lower: { input: number() }, upper: { input: number() } } }),
      () => ({ source: { identifier: `${one(['git', 'http', 'local', 'oci-layout', ''])}://${word()}` } }),
    ]);
    operations.push(image, local, operation.encode({ inputs: on(image, local), ...sent() }));
    const last = operations.at(-1) ?? image;
    operations.push(operation.encode({ inputs: [{ digest: digestOf(last), index: random.below(3) }] }));
    const bytes = one(operations);
    // Now and then bytes that are no message.
    const broken =
      seed % 5 === 0
        ? operations.with(2, Buffer.concat([bytes.subarray(0, 9), Buffer.from(random.bytes(9))]))
        : operations;
    try {
      readGraph({ ...graph([]), operations: broken }, OWNER);
    } catch (error) {
      expect([seed, isEngineError(error), String(error)]).toEqual([
        seed,
        true,
        expect.stringMatching(/.{10}/),
      ]);
    }
  }
});

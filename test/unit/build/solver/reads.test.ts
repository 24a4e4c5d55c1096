import { expect, test } from 'vitest';
import { positionsRead, resultsOf } from '../../../../daemon/build/solver/reads.ts';
import { WHOLE } from '../../../../daemon/build/graph/whole.ts';
import type { ExecOp, Op } from '../../../../daemon/build/graph/op.ts';

test('what copies take, and what names of owners are looked up in, is read', () => {
  const made = { owner: 'a', mode: 0o755, path: '/x' };
  const op: Op = {
    kind: 'files',
    actions: [
      { action: 'mkdir', ...made, accounts: 2 },
      { action: 'symlink', path: '/l', target: 't', owner: '' },
      { action: 'rm', path: '/r', isPattern: false, mayMiss: false },
      { ...WHOLE, from: 3 },
    ],
  };
  expect(positionsRead(op)).toEqual([2, 3]);
});

test('a tree that is mounted is known by what is read of it, also where a command may write to it', () => {
  const mount = { type: 'bind', source: '/', isWritable: false } as const;
  const op: ExecOp = {
    kind: 'exec',
    argv: ['true'],
    env: [],
    quietEnv: [],
    directory: '/',
    user: '',
    network: 'default',
    isPrivileged: false,
    hostname: '',
    extraHosts: [],
    ulimits: [],
    cgroupParent: '',
    mounts: [
      { ...mount, from: 2, target: '/b', isWritable: true },
      { ...mount, from: 1, target: '/a' },
      { ...mount, from: 3, target: '/c', result: 2 },
      { ...mount, from: 4, target: '/d', isWhole: true },
    ],
  };
  // What becomes of one that is a result stands on all of it.
  expect(positionsRead(op)).toEqual([1, 2]);
  expect(resultsOf(op)).toEqual([2]);
});

import { expect, test } from 'vitest';
import { positionsRead } from '../../../../daemon/build/solver/reads.ts';
import type { ExecOp } from '../../../../daemon/build/graph/op.ts';

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
    ],
  };
  expect(positionsRead(op)).toEqual([1, 2]);
});

import { expect, test } from 'vitest';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { limits } from '../../../../daemon/base/limits.ts';
import { FailedSteps } from '../../../../daemon/build/containers/failed-steps.ts';
import type { ExecOp } from '../../../../daemon/build/graph/op.ts';
import { FailedExec } from '../../../../daemon/build/ops/failed-exec.ts';
import { BuildTree, layersOfTree } from '../../../../daemon/build/snapshots/tree.ts';

class CommandError extends EngineError {
  readonly exitCode = 3;
  readonly command = ['sh'];
}

const SIGNAL = new AbortController().signal;
const OWNER = { uid: 0, gid: 0 };
const OP: ExecOp = {
  kind: 'exec',
  argv: ['sh'],
  env: [],
  quietEnv: ['HTTP_PROXY=p'],
  directory: '/',
  user: '',
  network: 'none',
  isPrivileged: false,
  hostname: '',
  extraHosts: [],
  ulimits: [],
  cgroupParent: '',
  mounts: [
    { type: 'secret', id: 's', env: 'S', isRequired: true, owner: OWNER, mode: 0 },
    { type: 'tmpfs', target: '/t' },
    { type: 'bind', from: 1, source: '/', target: '/in', isWritable: false },
    { type: 'bind', from: 2, source: '/', target: '/empty', isWritable: true },
  ],
};

/** A command that failed, and what has been given back of it. */
function failing(): { error: FailedExec; gone: string[]; inputs: BuildTree[] } {
  const gone: string[] = [];
  const tree = (name: string, layerIds: number[]): BuildTree =>
    new BuildTree({ kind: 'layers', layerIds }, () => gone.push(name));
  const inputs = [tree('root', [1]), tree('input', [2])];
  const left = {
    layers: () =>
      Promise.resolve({ layerIds: [1, 3], pin: { [Symbol.dispose]: () => void gone.push('left') } }),
    remove: () => void gone.push('container'),
  };
  const error = new FailedExec(new CommandError('internal', 'it failed'), {
    op: OP,
    inputs: [...inputs, undefined],
    left,
  });
  inputs.forEach((each) => each[Symbol.dispose]());
  return { error, gone, inputs };
}

test('a step that failed is told with names of what it stood on and left, in the order of its mounts', async () => {
  const { error } = failing();
  const steps = new FailedSteps();
  steps.add(error);
  steps.add(error);
  const told = steps.describe(error);
  expect(told).toMatchObject({
    inputs: ['step:0:0', '', 'step:0:1', 'step:0:2'],
    mounts: ['step:0:root', '', 'step:0:1', 'step:0:2'],
    op: {
      exec: {
        mounts: [
          { dest: '/', input: 0 },
          { dest: '/t' },
          { dest: '/in', input: 1 },
          { dest: '/empty', input: -1 },
        ],
        secretenv: [{ ID: 's', name: 'S' }],
      },
    },
  });
  expect(JSON.stringify(told?.op)).not.toContain('PROXY');
  expect(layersOfTree(await steps.tree('step:0:root', SIGNAL))).toEqual([1, 3]);
  expect(layersOfTree(await steps.tree('step:0:1', SIGNAL))).toEqual([2]);
  expect(await steps.tree('step:0:2', SIGNAL)).toBeUndefined();
  for (const ref of ['step:1:root', 'step:0:x', 'other', '']) {
    await expect(steps.tree(ref, SIGNAL)).rejects.toThrow(`no such reference: ${ref}`);
  }
  expect(steps.describe(new Error('another'))).toBeUndefined();
});

test('what a step left goes with its last holder', async () => {
  const { error, gone } = failing();
  const [one, other] = [new FailedSteps(), new FailedSteps()];
  one.add(error);
  other.add(error);
  error[Symbol.dispose]();
  await one.tree('step:0:root', SIGNAL);
  one[Symbol.dispose]();
  expect(gone).toEqual([]);
  other[Symbol.dispose]();
  await expect.poll(() => gone).toEqual(['container', 'root', 'input', 'left']);
});

test('of one build only the newest are kept', () => {
  const steps = new FailedSteps();
  const all = Array.from({ length: limits.buildFailedStepsMax + 1 }, () => failing());
  for (const { error } of all) {
    steps.add(error);
    error[Symbol.dispose]();
  }
  expect(all.map(({ gone }) => gone.length > 0)).toEqual([true, ...all.slice(1).map(() => false)]);
});

import { expect, test } from 'vitest';
import { put } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { WriteBatch } from '../../../../swarm/planner/write-batch.ts';
import { taskRecord } from '../../../support/swarm/builders.ts';

test('88: a task that is given an address is written after the service that gave it up', () => {
  const batch = new WriteBatch();
  const task = put('task', taskRecord('t', 's'));
  const placed = put('task', taskRecord('t', 's', { node: 'n1', desired: TaskState.running }));
  const service = put('serviceRun', { id: 'other' });
  [task, service, placed].forEach((write) => batch.add(write, { isFreeing: false }));
  expect(batch.writes).toEqual([service, placed]);
});

test('88: a service that gives something up does so before another takes it, whatever is written of it later', () => {
  const batch = new WriteBatch();
  const [portless, addressless, later, last] = [1, 2, 3, 4].map((portsOf) =>
    put('serviceRun', { id: 'a', portsOf }),
  );
  const taken = put('serviceRun', { id: 'b' });
  const steps = [
    [portless, true],
    // Nothing stands between the two.
    [addressless, false],
    [taken, false],
    [later, false],
    [last, false],
  ] as const;
  for (const [write, isFreeing] of steps) {
    batch.add(write ?? taken, { isFreeing });
  }
  expect(batch.writes).toEqual([addressless, taken, last]);
});

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
  [task, service, placed].forEach((write) => batch.add(write));
  expect(batch.writes).toEqual([service, placed]);
});

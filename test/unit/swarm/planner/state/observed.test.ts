import { expect, test } from 'vitest';
import { put, type Write } from '../../../../../swarm/objects/parts.ts';
import { isTerminal, TaskState } from '../../../../../swarm/objects/task-state.ts';
import { ClusterState } from '../../../../../swarm/planner/state/cluster-state.ts';
import { isAlive, isGone, losesTasks, takesTasks } from '../../../../../swarm/planner/state/observed.ts';
import { nodeState, nodeWrites, taskRecord, taskStatus } from '../../../../support/swarm/builders.ts';

test.each<[title: string, writes: Write[], takes: boolean, loses: boolean, gone: boolean]>([
  ['ready and active', nodeWrites('n'), true, false, false],
  ['paused', nodeWrites('n', { Availability: 'pause' }), false, false, false],
  ['drained', nodeWrites('n', { Availability: 'drain' }), false, true, false],
  ['unknown', [...nodeWrites('n'), nodeState('n', 'unknown')], false, false, false],
  ['down', [...nodeWrites('n'), nodeState('n', 'down')], false, true, true],
  ['removed', [], false, true, true],
])('node %s: takes tasks, loses tasks, is gone', (_, writes, takes, loses, gone) => {
  const state = new ClusterState();
  for (const write of writes) {
    state.apply(write);
  }
  const node = state.nodes.get('n');
  expect([takesTasks(node), losesTasks(node), isGone(node)]).toEqual([takes, loses, gone]);
});

test('a task is alive until it has ended, also before anything was reported', () => {
  const state = new ClusterState();
  state.apply(put('task', taskRecord('a', 's', { node: 'n' })));
  const task = state.tasks.get('a');
  const alive = (reported: TaskState | undefined): boolean | undefined => {
    state.apply(
      reported === undefined
        ? { part: 'status', id: 'a', value: null }
        : put('status', taskStatus('a', reported)),
    );
    return task && isAlive(task);
  };
  expect([undefined, TaskState.starting, TaskState.running].map(alive)).toEqual([true, true, true]);
  const ends = [TaskState.complete, TaskState.shutdown, TaskState.failed, TaskState.orphaned];
  expect(ends.map(alive)).toEqual(ends.map(() => false));
  expect(ends.every(isTerminal)).toBe(true);
});

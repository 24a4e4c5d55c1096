import { expect, test } from 'vitest';
import { put, remove, type Write } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { ClusterState } from '../../../../../swarm/planner/state/cluster-state.ts';
import { observedState } from '../../../../../swarm/planner/state/observed.ts';
import { nodeWrites, serviceWrites, taskRecord, taskStatus } from '../../../../support/swarm/builders.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';

const ids = (members: Iterable<{ id: string }>): string[] => [...members].map(({ id }) => id);

function stateOf(writes: Write[]): ClusterState {
  const state = new ClusterState();
  for (const write of writes) {
    state.apply(write);
  }
  return state;
}

const picture = (state: ClusterState): unknown => ({
  tasks: [...state.tasks.values()].toSorted((a, b) => a.id.localeCompare(b.id)),
  onNode: ids(state.tasksOn('n')),
  unassigned: ids(state.unassigned),
  templates: [...(state.services.get('s')?.templates.keys() ?? [])],
  node: state.nodes.get('n')?.state,
});

test('indices: tasks by service, slot and node, and those that want a node', () => {
  const state = stateOf([
    ...serviceWrites('s'),
    ...nodeWrites('n'),
    put('task', taskRecord('a', 's', { slot: 1, node: 'n' })),
    put('task', taskRecord('b', 's', { slot: 2 })),
    put('task', taskRecord('c', 's', { slot: 2, desired: TaskState.shutdown })),
  ]);
  expect(ids(state.tasksOf('s'))).toEqual(['a', 'b', 'c']);
  expect(ids(state.tasksInSlot('s', 2))).toEqual(['b', 'c']);
  expect(ids(state.tasksOn('n'))).toEqual(['a']);
  expect(ids(state.unassigned)).toEqual(['b']);
  state.apply(put('task', taskRecord('b', 's', { slot: 2, node: 'n' })));
  expect(ids(state.tasksOn('n'))).toEqual(['a', 'b']);
  expect(ids(state.unassigned)).toEqual([]);
});

test('a removed service and a removed node stay known while tasks name them', () => {
  const state = stateOf([...serviceWrites('s'), put('task', taskRecord('a', 's', { slot: 1, node: 'n' }))]);
  state.apply(remove('service', 's'));
  state.apply(remove('template', 's/1'));
  expect(state.services.get('s')?.record).toBeUndefined();
  expect(state.nodes.get('n')?.record).toBeUndefined();
  state.apply(remove('task', 'a'));
  expect([state.services.size, state.nodes.size, state.tasks.size]).toEqual([0, 0, 0]);
});

test('references: who uses a secret, config or network follows the specification', () => {
  const secrets = {
    ContainerSpec: { Secrets: [{ SecretID: 'x', SecretName: 'x' }] },
    Networks: [{ Target: 'n' }],
  };
  const state = stateOf(serviceWrites('s', { TaskTemplate: secrets }));
  expect([ids(state.usersOf('x')), ids(state.usersOf('n'))]).toEqual([['s'], ['s']]);
  for (const write of serviceWrites('s')) {
    state.apply(write);
  }
  expect([ids(state.usersOf('x')), ids(state.usersOf('n'))]).toEqual([[], []]);
});

test('a status may come before its task', () => {
  const state = stateOf([put('status', taskStatus('a', TaskState.running))]);
  state.apply(put('task', taskRecord('a', 's', { slot: 1, node: 'n' })));
  expect([...state.tasks.values()].map(observedState)).toEqual([TaskState.running]);
  expect(state.looseStatuses.size).toBe(0);
});

test('the order in which parts arrive does not matter', () => {
  const writes = [
    ...serviceWrites('s'),
    ...nodeWrites('n'),
    put('task', taskRecord('a', 's', { slot: 1, node: 'n' })),
    put('task', taskRecord('b', 's', { slot: 2 })),
    put('status', taskStatus('a', TaskState.running)),
  ];
  const expected = picture(stateOf(writes));
  for (let seed = 0; seed < 20; seed += 1) {
    const random = new SeededRandom(seed);
    const shuffled = writes
      .map((write) => ({ write, at: random.below(1e6) }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ write }) => write);
    expect(picture(stateOf(shuffled))).toEqual(expected);
  }
});

import { expect, test } from 'vitest';
import { put, remove } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { Scheduler } from '../../../../../swarm/planner/scheduler/scheduler.ts';
import { nodeState, nodeWrites, taskRecord } from '../../../../support/swarm/builders.ts';
import { ScheduledCluster } from '../../../../support/swarm/scheduled-cluster.ts';

const onSsd = { Placement: { Constraints: ['node.labels.disk==ssd'] } };
const reserving = (MemoryBytes: number) => ({ Resources: { Reservations: { MemoryBytes } } });

test('68: a waiting task is placed when a node comes', () => {
  const cluster = new ScheduledCluster();
  cluster.service('s', 1);
  cluster.plan();
  expect(cluster.errorOf('s1')).toBe('no suitable node');
  cluster.apply(...nodeWrites('a'));
  cluster.plan();
  expect(cluster.nodeOf('s1')).toBe('a');
});

test('68: a waiting task is placed when a label is set', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a'));
  cluster.service('s', 1, onSsd);
  cluster.plan();
  expect(cluster.errorOf('s1')).toBe('no suitable node (scheduling constraints not satisfied on 1 node)');
  cluster.apply(...nodeWrites('a', { Labels: { disk: 'ssd' } }));
  cluster.plan();
  expect(cluster.nodeOf('s1')).toBe('a');
});

test('68: a waiting task is placed when another gives back what it held, or is deleted', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a', {}, { Resources: { MemoryBytes: 100 } }));
  cluster.service('s', 3, reserving(100));
  cluster.plan();
  cluster.report('s1', TaskState.complete);
  cluster.plan();
  expect([cluster.nodeOf('s2'), cluster.nodeOf('s3')]).toEqual(['a', undefined]);
  cluster.apply(remove('task', 's2'));
  cluster.plan();
  expect(cluster.nodeOf('s3')).toBe('a');
});

test('69: the error says what refused how many nodes, most first; each node counts once', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a', { Labels: { disk: 'ssd' } }, { Resources: { MemoryBytes: 10 } }));
  cluster.apply(...nodeWrites('b', { Availability: 'drain' }));
  cluster.apply(...nodeWrites('c', {}, { Resources: { MemoryBytes: 100 } }));
  cluster.apply(...nodeWrites('d', {}, { Resources: { MemoryBytes: 100 } }));
  cluster.apply(...nodeWrites('e'), nodeState('e', 'down'));
  cluster.service('s', 1, { ...onSsd, ...reserving(50) });
  cluster.plan();
  expect(cluster.errorOf('s1')).toBe(
    'no suitable node (2 nodes not available for new tasks; scheduling constraints not satisfied on 2 nodes; ' +
      'insufficient resources on 1 node)',
  );
  expect(cluster.state.tasks.get('s1')?.record.refusal).toMatchObject({
    state: TaskState.pending,
    at: cluster.now,
  });
});

test('69: the error is written once, and gone when the task has a node', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a'));
  cluster.service('s', 1, onSsd);
  expect(cluster.plan()).toHaveLength(1);
  expect(cluster.plan()).toEqual([]);
  cluster.apply(...nodeWrites('b', { Labels: { disk: 'hdd' } }));
  expect(cluster.plan()).toHaveLength(1);
  expect(cluster.errorOf('s1')).toBe('no suitable node (scheduling constraints not satisfied on 2 nodes)');
  cluster.apply(...nodeWrites('b', { Labels: { disk: 'ssd' } }));
  cluster.plan();
  expect(cluster.state.tasks.get('s1')?.record).toEqual(
    taskRecord('s1', 's', { slot: 1, node: 'b', created: cluster.now, updated: cluster.now }),
  );
});

test('69: a refused group is not tried again while nothing was given back', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a', {}, { Resources: { MemoryBytes: 100 } }));
  cluster.service('s', 2, reserving(100));
  cluster.plan();
  cluster.service('t', 1);
  cluster.wait('s', 1);
  cluster.plan();
  expect([cluster.nodeOf('t1'), cluster.errorOf('s3')]).toEqual(['a', cluster.errorOf('s2')]);
});

test('70: a waiting task that is to be shut down ends as shutdown, also where the first write was lost', () => {
  const cluster = new ScheduledCluster();
  cluster.service('s', 2);
  cluster.plan();
  cluster.change('s1', { desired: TaskState.shutdown });
  cluster.change('s2', { desired: TaskState.remove });
  const ends = [put('status', { id: 's1', state: TaskState.shutdown, at: cluster.now, message: 'shutdown' })];
  expect(cluster.scheduler.plan(cluster.state, cluster.now)).toEqual(ends);
  expect(cluster.plan()).toEqual(ends);
  expect(cluster.plan()).toEqual([]);
});

test('71: a pinned task waits for its node, and goes nowhere else', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(
    ...nodeWrites('a', {}, { Resources: { MemoryBytes: 100 } }),
    ...nodeWrites('b'),
    nodeState('b', 'down'),
  );
  cluster.service('g', 0, reserving(60), { Mode: { Global: {} } });
  for (const node of ['a', 'b', 'c']) {
    cluster.apply(put('task', taskRecord(`g-${node}`, 'g', { pinned: node })));
  }
  cluster.plan();
  expect([cluster.nodeOf('g-a'), cluster.errorOf('g-b'), cluster.errorOf('g-c')]).toEqual([
    'a',
    '1 node not available for new tasks',
    '1 node not available for new tasks',
  ]);
  cluster.apply(...nodeWrites('b', {}, { Resources: { MemoryBytes: 10 } }));
  cluster.plan();
  expect(cluster.errorOf('g-b')).toBe('insufficient resources on 1 node');
  cluster.apply(...nodeWrites('b', {}, { Resources: { MemoryBytes: 60 } }));
  cluster.plan();
  expect(cluster.nodeOf('g-b')).toBe('b');
});

test('71: a pinned task comes before others that want the same room', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a', {}, { Resources: { MemoryBytes: 100 } }));
  cluster.service('s', 1, reserving(100));
  cluster.now += 1;
  cluster.service('g', 0, reserving(100), { Mode: { Global: {} } });
  cluster.apply(put('task', taskRecord('g-a', 'g', { pinned: 'a', created: cluster.now })));
  cluster.plan();
  expect([cluster.nodeOf('g-a'), cluster.nodeOf('s1')]).toEqual(['a', undefined]);
});

test('72: two passes never place one task twice', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a'), ...nodeWrites('b'));
  cluster.service('s', 4);
  expect(cluster.plan()).toHaveLength(4);
  expect(cluster.plan()).toEqual([]);
  expect(cluster.spread('s')).toBe('a:2 b:2');
});

test('72: a plan that the store refused holds nothing: the next one decides the same', () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a', {}, { Resources: { MemoryBytes: 100 } }));
  cluster.service('s', 1, reserving(100));
  const dropped = cluster.scheduler.plan(cluster.state, cluster.now);
  expect(cluster.scheduler.plan(cluster.state, cluster.now)).toEqual(dropped);
  cluster.plan();
  expect(cluster.nodeOf('s1')).toBe('a');
  cluster.change('s1', { node: 'elsewhere' });
  cluster.wait('s', 1);
  cluster.plan();
  expect(cluster.nodeOf('s2')).toBe('a');
});

test('72: what a scheduler has kept agrees with what a new one derives', () => {
  const cluster = new ScheduledCluster();
  for (const node of ['a', 'b', 'c', 'd']) {
    cluster.apply(...nodeWrites(node, {}, { Resources: { MemoryBytes: 1000 } }));
  }
  for (let round = 0; round < 30; round += 1) {
    const service = `s${round}x`;
    cluster.service(service, 1 + (round % 7), reserving(20 * (round % 4)));
    cluster.plan();
    for (const task of cluster.state.tasksOf(`s${round - 2}x`)) {
      cluster.report(task.id, round % 2 === 0 ? TaskState.failed : TaskState.complete);
    }
    if (round % 5 === 0) {
      cluster.apply(...nodeWrites('b', { Availability: round % 10 === 0 ? 'drain' : 'active' }));
    }
    cluster.wait(service, 2);
    const anew = new Scheduler(1).plan(cluster.state, cluster.now);
    expect(cluster.plan()).toEqual(anew);
  }
});

test("a task that waits for addresses or ports is the allocator's, and one whose template is gone is nobody's", () => {
  const cluster = new ScheduledCluster();
  cluster.apply(...nodeWrites('a'));
  cluster.service('s', 1);
  cluster.apply(put('task', taskRecord('x', 'gone')));
  expect(cluster.scheduler.plan(cluster.state, cluster.now, new Set(['s1']))).toEqual([]);
});

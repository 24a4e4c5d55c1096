import { describe, expect, test } from 'vitest';
import { put, remove } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import {
  nodeState,
  nodeWrites,
  serviceWrites,
  taskRecord,
  taskStatus,
} from '../../../../support/swarm/builders.ts';
import { PlannedCluster, wellBehaved } from '../../../../support/swarm/planned-cluster.ts';

const nodes = ['n1', 'n2', 'n3'].flatMap((id) => nodeWrites(id));
const replicas = (count: number): { Mode: { Replicated: { Replicas: number } } } => ({
  Mode: { Replicated: { Replicas: count } },
});
const slots = (cluster: PlannedCluster): (number | undefined)[] =>
  cluster
    .wanted('s')
    .map(({ record }) => record.slot)
    .toSorted((a, b) => (a ?? 0) - (b ?? 0));

const nodesOf = (cluster: PlannedCluster): string[] =>
  cluster
    .running('s')
    .map((each) => each.split('@')[1] ?? '')
    .toSorted((a, b) => (a < b ? -1 : 1));

const task = (id: string, slot: number, node: string, state: TaskState) => [
  put('task', taskRecord(id, 's', { slot, node })),
  put('status', taskStatus(id, state)),
];
const build = (): PlannedCluster => new PlannedCluster(nodes, serviceWrites('s')).settle();

describe('replicated', () => {
  test('1: create with 3 replicas makes slots 1 to 3, each stored once and already assigned', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s'));
    const tasks = cluster.written.filter(({ part }) => part === 'task');
    expect(tasks).toHaveLength(3);
    expect(cluster.wanted('s').map(({ record }) => [record.slot, record.desired])).toEqual([
      [1, TaskState.running],
      [2, TaskState.running],
      [3, TaskState.running],
    ]);
    expect(nodesOf(cluster.settle())).toEqual(['n1', 'n2', 'n3']);
  });

  test('2: a task deleted by other means is made anew in its slot', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s')).settle();
    const second = cluster.tasks('s').find(({ record }) => record.slot === 2)?.id ?? '';
    cluster.change(remove('task', second), remove('status', second));
    expect(slots(cluster)).toEqual([1, 2, 3]);
  });

  test('3: scale up fills the lowest free slots', () => {
    const cluster = new PlannedCluster(nodes, [
      ...serviceWrites('s', replicas(4)),
      ...task('a', 1, 'n1', TaskState.running),
      ...task('b', 2, 'n1', TaskState.running),
      ...task('c', 3, 'n2', TaskState.running),
      ...task('d', 4, 'n3', TaskState.running),
    ]);
    cluster.change(...serviceWrites('s', replicas(3)));
    expect(slots(cluster.settle())).toEqual([1, 3, 4]);
    cluster.change(...serviceWrites('s', replicas(4)));
    expect(slots(cluster.settle())).toEqual([1, 2, 3, 4]);
    cluster.change(...serviceWrites('s', replicas(6)));
    expect(slots(cluster.settle())).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('4: scale down takes from the most crowded nodes, then what does not run, then high slots', () => {
    const cluster = new PlannedCluster(nodes, [
      ...serviceWrites('s', replicas(6)),
      ...task('a', 1, 'n1', TaskState.running),
      ...task('b', 2, 'n1', TaskState.running),
      ...task('c', 3, 'n1', TaskState.running),
      ...task('d', 4, 'n2', TaskState.starting),
      ...task('e', 5, 'n2', TaskState.running),
      ...task('f', 6, 'n3', TaskState.running),
    ]);
    const kept: string[][] = [];
    for (const count of [6, 5, 4, 3, 2]) {
      cluster.change(...serviceWrites('s', replicas(count)));
      kept.push(
        cluster
          .wanted('s')
          .map(({ id }) => id)
          .toSorted(),
      );
    }
    expect(kept).toEqual([
      ['a', 'b', 'c', 'd', 'e', 'f'],
      ['a', 'b', 'd', 'e', 'f'],
      ['a', 'b', 'e', 'f'],
      ['a', 'e', 'f'],
      ['a', 'e'],
    ]);
  });

  test('5: the tasks of a removed service are wanted removed, and then gone with all that it left', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s')).settle();
    cluster.change(remove('service', 's'));
    expect(cluster.tasks('s').map(({ record }) => record.desired)).toEqual([800, 800, 800]);
    cluster.settle();
    expect([...cluster.stored.keys()].filter((key) => !key.startsWith('node'))).toEqual([]);
  });

  test('6: tasks of a drained node move without delay', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s')).settle();
    cluster.change(...nodeWrites('n1', { Availability: 'drain' }));
    expect(new Set(nodesOf(cluster.settle()))).toEqual(new Set(['n2', 'n3']));
    expect(nodesOf(cluster)).toHaveLength(3);
  });

  test('7: tasks of a node that is down are replaced without delay, the old ones stay to be shut down', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s')).settle();
    cluster.change(nodeState('n1', 'down'));
    cluster.settle();
    const lost = cluster.tasks('s').find(({ record }) => record.node === 'n1')?.record.slot;
    const moved = cluster.tasks('s').filter(({ record }) => record.slot === lost);
    expect(moved.map(({ record, status }) => [record.node === 'n1', record.desired, status?.state])).toEqual([
      [true, TaskState.shutdown, TaskState.running],
      [false, TaskState.running, TaskState.running],
    ]);
    cluster.change(nodeState('n1', 'ready'));
    expect(nodesOf(cluster.settle())).toHaveLength(3);
    expect(nodesOf(cluster)).not.toContain('n1');
  });

  test('8: a new leader replaces rejected and failed tasks, once', () => {
    const cluster = new PlannedCluster(nodes, [
      put('task', taskRecord('a', 's', { slot: 1, node: 'n1' })),
      put('status', taskStatus('a', TaskState.rejected)),
      put('task', taskRecord('b', 's', { slot: 2, node: 'n2' })),
      put('status', taskStatus('b', TaskState.failed)),
      ...serviceWrites('s', replicas(2)),
    ]);
    cluster.lead();
    cluster.pass();
    cluster.pass();
    expect(cluster.tasks('s').map(({ record }) => [record.slot, record.desired])).toEqual([
      [1, TaskState.shutdown],
      [2, TaskState.shutdown],
      [1, TaskState.ready],
      [2, TaskState.ready],
    ]);
  });

  test('9: a new leader lets a task that was made ready through after the rest of its delay', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s', replicas(1))).settle();
    cluster.report(cluster.tasks('s')[0]?.id ?? '', TaskState.failed);
    cluster.advance(3_000).lead();
    expect(cluster.advance(1_999).running('s')).toEqual([]);
    expect(cluster.advance(1).running('s')).toHaveLength(1);
  });

  test('10: a new leader removes the tasks of a service that is no more', () => {
    const cluster = new PlannedCluster(nodes);
    for (const write of [
      put('task', taskRecord('a', 'gone', { slot: 1, node: 'n1' })),
      put('status', taskStatus('a', TaskState.running)),
      put('task', taskRecord('b', 'gone', { slot: 2 })),
    ]) {
      cluster.stored.set(`${write.part}/${write.id}`, write);
    }
    cluster.lead();
    cluster.pass();
    expect(cluster.tasks('gone').map(({ id, record }) => [id, record.desired])).toEqual([['a', 800]]);
    expect(cluster.settle().tasks('gone')).toEqual([]);
  });

  test('23: a service that cannot be planned does not keep others from it', () => {
    const broken = serviceWrites('a', { EndpointSpec: { Ports: {} as never } });
    const cluster = new PlannedCluster(nodes, broken, serviceWrites('s'));
    expect(slots(cluster)).toEqual([1, 2, 3]);
    expect(cluster.errors.map(({ service }) => service)).toContain('a');
  });

  test('a write is lost between any two of a pass: the next leader comes to the same end', () => {
    const changes = [...nodeWrites('n1', { Availability: 'drain' }), ...serviceWrites('s', replicas(5))];
    const { length: all } = build().change(...changes);
    for (let kept = 0; kept <= all; kept += 1) {
      const cluster = build();
      const before = new Map(cluster.stored);
      const writes = cluster.change(...changes);
      cluster.stored.clear();
      for (const write of [...before.values(), ...changes, ...writes.slice(0, kept)]) {
        cluster.stored.set(`${write.part}/${write.id}`, write);
      }
      cluster.lead();
      cluster.pass();
      expect(cluster.settle().advance(60_000).running('s')).toHaveLength(5);
      expect(slots(cluster)).toEqual([1, 2, 3, 4, 5]);
    }
  });

  test('a task that cannot be placed waits, and goes where a node comes', () => {
    const cluster = new PlannedCluster(serviceWrites('s', replicas(1)));
    expect(cluster.tasks('s').map(({ record }) => record.node)).toEqual([undefined]);
    cluster.behaviour = wellBehaved;
    cluster.change(...nodeWrites('n9'));
    expect(cluster.settle().running('s')).toEqual(['1@n9']);
  });
});

import { expect, test } from 'vitest';
import type { TaskSpec } from '../../../../../api/types/swarm/task.ts';
import { put, remove } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { ScheduledCluster } from '../../../../support/swarm/scheduled-cluster.ts';

function clusterOf(nodes: Record<string, Record<string, string>>, seed = 1): ScheduledCluster {
  const cluster = new ScheduledCluster(seed);
  for (const [id, Labels] of Object.entries(nodes)) {
    cluster.apply(...nodeWrites(id, { Labels }));
  }
  return cluster;
}

const spreadOver = (...labels: string[]): TaskSpec => ({
  Placement: {
    Preferences: labels.map((label) => ({ Spread: { SpreadDescriptor: `node.labels.${label}` } })),
  },
});

test('53: the node with the fewest tasks of the service is taken first, however full it is otherwise', () => {
  const cluster = clusterOf({ a: {}, b: {}, c: {} });
  cluster.service('s', 0);
  cluster.running('s', 'a', 2);
  cluster.running('s', 'b', 1);
  cluster.service('other', 0);
  cluster.running('other', 'c', 20);
  cluster.wait('s', 3);
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:2 b:2 c:2');
});

test('54: among nodes with as many of the service, the one with the fewest tasks in all', () => {
  const cluster = clusterOf({ a: {}, b: {}, c: {} });
  cluster.service('other', 0);
  cluster.running('other', 'a', 3);
  cluster.running('other', 'c', 1);
  cluster.service('s', 5);
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:1 b:2 c:2');
});

test('53: tasks that are to be shut down do not count', () => {
  const cluster = clusterOf({ a: {}, b: {} });
  cluster.service('s', 0);
  cluster.running('s', 'a', 2);
  cluster.running('s', 'b', 1);
  cluster.change('s1', { desired: TaskState.shutdown });
  cluster.change('s2', { desired: TaskState.shutdown });
  cluster.wait('s', 1);
  cluster.plan();
  expect(cluster.nodeOf('s4')).toBe('a');
});

test('55: tasks are divided evenly over zones of different sizes, nodes without the label being one', () => {
  const cluster = clusterOf({
    a1: { zone: 'a' },
    a2: { zone: 'a' },
    a3: { zone: 'a' },
    b1: { zone: 'b' },
    none: {},
  });
  cluster.service('s', 9, spreadOver('zone'));
  cluster.plan();
  expect(cluster.spread('s')).toBe('a1:1 a2:1 a3:1 b1:3 none:3');
});

test('55: a preference that names no label is passed over', () => {
  const cluster = clusterOf({ a: {}, b: {} });
  cluster.service('s', 4, {
    Placement: { Preferences: [{ Spread: { SpreadDescriptor: 'node.hostname' } }] },
  });
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:2 b:2');
});

test('56: two preferences: zones first, then racks in each', () => {
  const cluster = clusterOf({
    a1: { zone: 'a', rack: '1' },
    a2: { zone: 'a', rack: '2' },
    a3: { zone: 'a', rack: '2' },
    b1: { zone: 'b', rack: '1' },
  });
  cluster.service('s', 8, spreadOver('zone', 'rack'));
  cluster.plan();
  expect(cluster.spread('s')).toBe('a1:2 a2:1 a3:1 b1:4');
});

test('57: scaling up fills the branch that is short', () => {
  const cluster = clusterOf({ a: { zone: 'a' }, b: { zone: 'b' }, c: { zone: 'b' } });
  cluster.service('s', 0, spreadOver('zone'));
  cluster.running('s', 'b', 2);
  cluster.running('s', 'c', 2);
  cluster.wait('s', 5);
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:5 b:2 c:2');
});

test('58: a full branch gives its share away', () => {
  const cluster = clusterOf({ a: { zone: 'a' }, b: { zone: 'b' } });
  cluster.apply(...nodeWrites('c', { Labels: { zone: 'c' }, Availability: 'pause' }));
  cluster.service('s', 8, { Placement: { ...spreadOver('zone').Placement, MaxReplicas: 5 } });
  cluster.running('s', 'a', 3);
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:5 b:5');
  expect(cluster.errorOf('s8')).toBe(
    'no suitable node (max replicas per node limit exceed; 1 node not available for new tasks)',
  );
});

test('56: branches follow a change of labels', () => {
  const cluster = clusterOf({ a: { zone: 'a' }, b: { zone: 'b' }, c: { zone: 'b' } });
  cluster.service('s', 2, spreadOver('zone'));
  cluster.plan();
  expect(cluster.nodeOf('s1') === 'a' || cluster.nodeOf('s2') === 'a').toBe(true);
  cluster.apply(...nodeWrites('c', { Labels: { zone: 'a' } }), ...nodeWrites('b', { Labels: { zone: 'a' } }));
  cluster.wait('s', 4);
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:2 b:2 c:2');
});

test('67: a node with five failures of this revision in five minutes is taken last, by the fewer failures', () => {
  const cluster = clusterOf({ a: {}, b: {}, c: {} });
  cluster.service('s', 0);
  for (const [node, failures] of [
    ['a', 6],
    ['b', 5],
    ['c', 4],
  ] as const) {
    cluster.running('s', node, failures);
  }
  cluster.plan();
  for (let slot = 1; slot <= 15; slot += 1) {
    cluster.report(`s${slot}`, TaskState.failed);
  }
  cluster.service('other', 0);
  cluster.running('other', 'c', 9);
  cluster.wait('s', 2);
  cluster.plan();
  expect(cluster.spread('s')).toBe('c:2');

  cluster.apply(...nodeWrites('c', { Availability: 'pause' }));
  cluster.wait('s', 1);
  cluster.plan();
  expect(cluster.spread('s')).toBe('b:1 c:2');

  // A new revision of the template gets a new chance, and so does the old one after five minutes.
  cluster.apply(...serviceWrites('s', { TaskTemplate: { ForceUpdate: 1 } }, { template: 2 }));
  cluster.wait('s', 1, { template: 2 });
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:1 b:1 c:2');
  cluster.now += 5 * 60_000 + 1;
  cluster.report('s19', TaskState.complete);
  cluster.wait('s', 1);
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:1 b:1 c:2');
});

test('67: a new leader knows the failures from the statuses that are kept', () => {
  const cluster = clusterOf({ a: {}, b: {} });
  cluster.service('s', 0);
  cluster.running('s', 'a', 5);
  for (let slot = 1; slot <= 5; slot += 1) {
    cluster.report(`s${slot}`, TaskState.rejected);
  }
  cluster.service('other', 0);
  cluster.running('other', 'b', 9);
  cluster.wait('s', 1);
  cluster.plan();
  expect(cluster.spread('s')).toBe('b:1');
});

test('73: ties are broken by a seed and the service, not by the order in which parts arrive', () => {
  const nodes = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`n${index}`, {}]));
  const placesOf = (seed: number, names: string[]): string => {
    const cluster = clusterOf(Object.fromEntries(names.map((name) => [name, nodes[name] ?? {}])), seed);
    cluster.service('s', 3);
    cluster.service('t', 3);
    cluster.plan();
    return `${cluster.spread('s')} | ${cluster.spread('t')}`;
  };
  const names = Object.keys(nodes);
  expect(placesOf(7, names.toReversed())).toBe(placesOf(7, names));
  expect(new Set([1, 2, 3, 4, 5].map((seed) => placesOf(seed, names))).size).toBeGreaterThan(1);
  const [s, t] = placesOf(7, names).split(' | ');
  expect(s).not.toBe(t);
});

test('53: after a node is removed and another comes, counts belong to the right one', () => {
  const cluster = clusterOf({ a: {}, b: {} });
  cluster.service('s', 4);
  cluster.plan();
  cluster.apply(remove('node', 'a'), remove('nodeState', 'a'), remove('nodeDescription', 'a'));
  cluster.apply(...nodeWrites('c'));
  cluster.wait('s', 2);
  cluster.plan();
  expect(cluster.spread('s')).toBe('a:2 b:2 c:2');
  cluster.apply(...nodeWrites('a'), ...nodeWrites('d'));
  cluster.apply(put('task', { ...taskOf(cluster, 's1'), node: 'd' }));
  cluster.wait('s', 3);
  cluster.plan();
  expect(
    cluster
      .spread('s')
      .split(' ')
      .map((place) => place.slice(2))
      .toSorted(),
  ).toEqual(['2', '2', '2', '3']);
});

function taskOf(cluster: ScheduledCluster, id: string) {
  const record = cluster.state.tasks.get(id)?.record;
  if (record === undefined) {
    throw new Error(`no task ${id}`);
  }
  return record;
}

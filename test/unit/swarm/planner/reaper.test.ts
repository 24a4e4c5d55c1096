import { describe, expect, test } from 'vitest';
import { put, type Write } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { observedState } from '../../../../swarm/planner/state/observed.ts';
import {
  clusterWrite,
  nodeState,
  nodeWrites,
  serviceWrites,
  taskRecord,
  taskStatus,
} from '../../../support/swarm/builders.ts';
import { PlannedCluster, wellBehaved } from '../../../support/swarm/planned-cluster.ts';

const limit = (TaskHistoryRetentionLimit: number): Write =>
  clusterWrite({ Orchestration: { TaskHistoryRetentionLimit } });
const one = { Mode: { Replicated: { Replicas: 1 } } };

function failTimes(cluster: PlannedCluster, times: number): PlannedCluster {
  for (let count = 0; count < times; count += 1) {
    cluster.report(cluster.tasks('s').at(-1)?.id ?? '', TaskState.failed);
    cluster.advance(10_000);
  }
  return cluster;
}

describe('reaper', () => {
  test.each([
    [0, 1],
    [5, 5],
    [-1, 13],
  ])('78: a history of %i tasks per slot', (count, kept) => {
    const cluster = failTimes(
      new PlannedCluster(nodeWrites('n'), [limit(count)], serviceWrites('s', one)).settle(),
      12,
    );
    expect(cluster.tasks('s')).toHaveLength(kept);
    expect(cluster.running('s')).toEqual(['1@n']);
    expect([...cluster.stored.keys()].filter((key) => key.startsWith('status/'))).toHaveLength(kept);
  });

  test('79: with MaxAttempts as many tasks are kept as the count needs', () => {
    const spec = { ...one, TaskTemplate: { RestartPolicy: { MaxAttempts: 7 } } };
    const cluster = failTimes(
      new PlannedCluster(nodeWrites('n'), [limit(1)], serviceWrites('s', spec)).settle(),
      12,
    );
    expect(cluster.tasks('s')).toHaveLength(8);
    expect(cluster.running('s')).toEqual([]);
  });

  test('79: attempts are kept also while older tasks that have not stopped make the history long', () => {
    const spec = { ...one, TaskTemplate: { RestartPolicy: { MaxAttempts: 1, Delay: 0 } } };
    const cluster = new PlannedCluster(nodeWrites('n'), [limit(2)], serviceWrites('s', spec)).settle();
    const [first] = cluster.tasks('s');
    const stopping = ['x', 'y', 'z'].map((id) =>
      put('task', {
        ...first?.record,
        ...taskRecord(id, 's', { slot: 1, node: 'n', template: 0, desired: TaskState.shutdown }),
      }),
    );
    cluster.behaviour = (task) => (stopping.some(({ id }) => id === task.id) ? undefined : wellBehaved(task));
    cluster.change(...stopping);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      cluster.report(cluster.tasks('s').at(-1)?.id ?? '', TaskState.failed);
      cluster.advance(10_000).lead();
    }
    expect(
      cluster
        .advance(10_000)
        .tasks('s')
        .filter(({ record }) => record.created > 0),
    ).toHaveLength(2);
  });

  test('80: what still runs is never deleted, also on a node that is away', () => {
    const cluster = new PlannedCluster(nodeWrites('n'), [limit(0)], serviceWrites('s', one)).settle();
    cluster.change(nodeState('n', 'down'));
    cluster.change(...serviceWrites('s', { Mode: { Replicated: { Replicas: 0 } } }));
    cluster.advance(600_000);
    expect(cluster.tasks('s').map((task) => [task.record.desired, observedState(task)])).toEqual([
      [TaskState.remove, TaskState.running],
    ]);
    cluster.change(nodeState('n', 'ready'));
    expect(cluster.settle().tasks('s')).toEqual([]);
  });

  test('a status that a leader has left behind as it deleted its task goes', () => {
    const cluster = new PlannedCluster(nodeWrites('n'), serviceWrites('s', one)).settle();
    cluster.stored.set('status/gone', put('status', taskStatus('gone', TaskState.shutdown)));
    cluster.lead();
    cluster.pass();
    expect([...cluster.stored.keys()].filter((key) => key.startsWith('status/'))).toHaveLength(1);
  });

  test('81: scaled down before they had a node, tasks are gone at once', () => {
    const cluster = new PlannedCluster([], serviceWrites('s'));
    expect(cluster.tasks('s')).toHaveLength(3);
    cluster.change(...serviceWrites('s', one));
    expect(cluster.tasks('s').map(({ record }) => record.slot)).toEqual([1]);
  });

  test('tasks of a removed node are told orphaned, replaced and forgotten', () => {
    const cluster = new PlannedCluster(nodeWrites('n1'), serviceWrites('s', one)).settle();
    cluster.change(
      ...(['node', 'nodeState', 'nodeDescription'] as const).map((part): Write => ({
        part,
        id: 'n1',
        value: null,
      })),
      ...nodeWrites('n2'),
    );
    expect(cluster.advance(5_000).running('s')).toEqual(['1@n2']);
    expect(cluster.tasks('s').map(observedState)).toEqual([TaskState.orphaned, TaskState.running]);
  });
});

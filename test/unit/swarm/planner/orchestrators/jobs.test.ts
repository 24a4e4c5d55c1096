import { describe, expect, test } from 'vitest';
import type { ServiceSpec } from '../../../../../api/types/swarm/service.ts';
import type { Write } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { observedState } from '../../../../../swarm/planner/state/observed.ts';
import { nodeState, nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { PlannedCluster, wellBehaved } from '../../../../support/swarm/planned-cluster.ts';

const nodes = ['n1', 'n2'].flatMap((id) => nodeWrites(id));
const job = (completions: number, concurrent: number, iteration = 0): Write[] =>
  serviceWrites(
    's',
    { Mode: { ReplicatedJob: { TotalCompletions: completions, MaxConcurrent: concurrent } } },
    { job: { iteration, lastExecution: 0 } },
  );
const globalJob = (spec: ServiceSpec = {}): Write[] =>
  serviceWrites('s', { Mode: { GlobalJob: {} }, ...spec }, { job: { iteration: 0, lastExecution: 0 } });
const slots = (cluster: PlannedCluster): unknown[] => cluster.tasks('s').map(({ record }) => record.slot);
/** Runs, until a test ends it. */
const runs: typeof wellBehaved = ({ record }) =>
  record.desired <= TaskState.complete ? TaskState.running : TaskState.shutdown;

describe('jobs', () => {
  test('17 and 18: never more than MaxConcurrent at a time, each of its slots from 0 once', () => {
    const cluster = new PlannedCluster(nodes, job(5, 2));
    cluster.behaviour = runs;
    const seen: number[] = [];
    for (let done = 0; done < 5; done += 1) {
      cluster.settle();
      const atWork = cluster.tasks('s').filter((task) => observedState(task) === TaskState.running);
      seen.push(atWork.length);
      cluster.report(atWork[0]?.id ?? '', TaskState.complete);
    }
    cluster.settle();
    expect(seen).toEqual([2, 2, 2, 2, 1]);
    expect(slots(cluster)).toEqual([0, 1, 2, 3, 4]);
    expect(cluster.tasks('s').map(observedState)).toEqual(
      Array.from({ length: 5 }, () => TaskState.complete),
    );
    cluster.lead();
    expect(cluster.advance(60_000).tasks('s')).toHaveLength(5);
  });

  test('19: a failed task is begun again in its slot and takes no new one', () => {
    const cluster = new PlannedCluster(nodes, job(3, 1));
    cluster.behaviour = runs;
    cluster.settle().report(cluster.tasks('s')[0]?.id ?? '', TaskState.failed);
    cluster.advance(5_000);
    expect(slots(cluster)).toEqual([0, 0]);
    expect(cluster.running('s')).toHaveLength(1);
  });

  test('19: a slot that failed for good stays taken', () => {
    const spec = {
      Mode: { ReplicatedJob: { TotalCompletions: 2, MaxConcurrent: 1 } },
      TaskTemplate: { RestartPolicy: { Condition: 'none' as const } },
    };
    const cluster = new PlannedCluster(
      nodes,
      serviceWrites('s', spec, { job: { iteration: 0, lastExecution: 0 } }),
    );
    cluster.behaviour = ({ record }) => (record.slot === 0 ? TaskState.failed : TaskState.complete);
    cluster.advance(60_000);
    expect(cluster.tasks('s').map((task) => [task.record.slot, observedState(task)])).toEqual([
      [0, TaskState.failed],
      [1, TaskState.complete],
    ]);
  });

  test('20: an update removes the tasks of the old iteration and begins anew', () => {
    const cluster = new PlannedCluster(nodes, job(2, 2)).settle();
    cluster.change(...job(2, 2, 1));
    expect(
      cluster
        .settle()
        .tasks('s')
        .map((task) => [task.record.slot, task.record.iteration]),
    ).toEqual([
      [0, 1],
      [1, 1],
    ]);
  });

  test('20: also of a global job, whose tasks were done', () => {
    const cluster = new PlannedCluster(nodes, globalJob()).settle();
    const again = serviceWrites(
      's',
      { Mode: { GlobalJob: {} } },
      { job: { iteration: 1, lastExecution: 0 } },
    );
    cluster.change(...again);
    expect(
      cluster
        .settle()
        .tasks('s')
        .map(({ record }) => record.iteration),
    ).toEqual([1, 1]);
  });

  test('21: a global job waits for nodes to be ready, and runs once on each', () => {
    const cluster = new PlannedCluster(
      nodes,
      nodeWrites('n3'),
      [nodeState('n3', 'unknown')],
      globalJob(),
    ).settle();
    const done = (): unknown[] => cluster.tasks('s').map((task) => [task.record.node, observedState(task)]);
    expect(done()).toEqual([
      ['n1', TaskState.complete],
      ['n2', TaskState.complete],
    ]);
    cluster.change(nodeState('n3', 'ready'));
    expect(cluster.settle().advance(60_000).tasks('s')).toHaveLength(3);
    cluster.change(nodeState('n1', 'down'), nodeState('n1', 'ready'));
    expect(cluster.advance(60_000).tasks('s')).toHaveLength(3);
  });

  test('22: a job task on a drained node is begun elsewhere, one that was done is not', () => {
    const cluster = new PlannedCluster(nodes, job(2, 2));
    cluster.behaviour = runs;
    cluster.settle().report(cluster.tasks('s')[0]?.id ?? '', TaskState.complete);
    const [, second] = cluster.tasks('s');
    cluster.change(
      ...nodeWrites('n1', { Availability: 'drain' }),
      ...nodeWrites('n2', { Availability: 'drain' }),
    );
    cluster.change(...nodeWrites('n3'));
    cluster.settle();
    expect(second?.record.desired).toBe(TaskState.shutdown);
    expect(cluster.running('s')).toEqual(['1@n3']);
  });

  test('77: the enforcer leaves completed tasks of jobs alone', () => {
    const cluster = new PlannedCluster(nodes, globalJob()).settle();
    const east = { TaskTemplate: { Placement: { Constraints: ['node.labels.zone==east'] } } };
    cluster.change(...globalJob(east), ...nodeWrites('n1', { Labels: { zone: 'west' } }));
    expect(cluster.settle().tasks('s').map(observedState)).toEqual([TaskState.complete, TaskState.complete]);
  });
});

import { describe, expect, test } from 'vitest';
import type { ServiceSpec, UpdateConfig } from '../../../../../api/types/swarm/service.ts';
import type { TaskSpec } from '../../../../../api/types/swarm/task.ts';
import { put, type Write } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import type { Task } from '../../../../../swarm/planner/state/entries.ts';
import { observedState } from '../../../../../swarm/planner/state/observed.ts';
import { clusterWrite, nodeState, nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { PlannedCluster, wellBehaved } from '../../../../support/swarm/planned-cluster.ts';

const SECOND = 1e9;
const nodes = ['n1', 'n2', 'n3'].flatMap((id) => nodeWrites(id));

function spec(
  revision: number,
  more: { update?: UpdateConfig; task?: TaskSpec; replicas?: number } = {},
): ServiceSpec {
  return {
    Name: 's',
    TaskTemplate: { ContainerSpec: { Image: `i:${revision}` }, ...more.task },
    Mode: { Replicated: { Replicas: more.replicas ?? 4 } },
    UpdateConfig: { Parallelism: 1, ...more.update },
    RollbackConfig: { Parallelism: 0 },
  };
}

const create = (more: Parameters<typeof spec>[1] = {}): PlannedCluster =>
  new PlannedCluster(nodes, serviceWrites('s', spec(1, more))).settle();

/** What the API writes for an update. */
function update(cluster: PlannedCluster, template: number, wanted: ServiceSpec): void {
  const before = cluster.state.services.get('s')?.record;
  cluster.change(
    ...serviceWrites('s', wanted, { template, templatesIssued: template }),
    put('previousService', { id: 's', spec: before?.spec ?? {}, template: before?.template ?? 0 }),
  );
}

const status = (cluster: PlannedCluster): string => {
  const found = cluster.state.services.get('s')?.run?.update;
  return found === undefined ? '' : `${found.state}: ${found.message}`;
};
const running = (cluster: PlannedCluster): Task[] =>
  cluster.tasks('s').filter((task) => observedState(task) === TaskState.running);
const revisions = (cluster: PlannedCluster): number[] =>
  running(cluster)
    .map(({ record }) => record.template)
    .toSorted((a, b) => a - b);
/** Tasks of these revisions end as soon as they are begun. */
const failing =
  (...bad: number[]): typeof wellBehaved =>
  (task) => {
    const wished = wellBehaved(task);
    const begins = wished === TaskState.running && bad.includes(task.record.template);
    return begins ? TaskState.failed : wished;
  };
const firstFailed = (cluster: PlannedCluster): string =>
  cluster.state.services.get('s')?.run?.update?.failed[0] ?? '';

const global = (revision: number): ServiceSpec => ({
  ...spec(revision, { update: { Delay: 10 * SECOND } }),
  Mode: { Global: {} },
});

describe('updater', () => {
  test.each([
    [1, [1, 2, 3, 4]],
    [2, [2, 4]],
    [0, [4]],
  ])('34: parallelism %i', (Parallelism, steps) => {
    const cluster = create();
    update(cluster, 2, spec(2, { update: { Parallelism, Delay: 10 * SECOND } }));
    const seen = steps.map(() => {
      cluster.settle();
      const count = revisions(cluster).filter((each) => each === 2).length;
      cluster.advance(10_000);
      return count;
    });
    expect(seen).toEqual(steps);
    expect(cluster.running('s').map((each) => each.split('@')[0])).toEqual(['1', '2', '3', '4']);
  });

  test('35 and 43: the delay between slots; watching lasts longer than a delay that is longer', () => {
    const cluster = create({ replicas: 2 });
    update(cluster, 2, spec(2, { replicas: 2, update: { Delay: 20 * SECOND } }));
    cluster.settle();
    expect(cluster.advance(19_999).settle() && revisions(cluster)).toEqual([1, 2]);
    expect(cluster.advance(1) && revisions(cluster)).toEqual([2, 2]);
    expect(cluster.advance(20_999) && status(cluster)).toBe('updating: update in progress');
    expect(cluster.advance(1) && status(cluster)).toBe('completed: update completed');
  });

  test('without a delay it is watched for the time of monitoring after the last slot', () => {
    const cluster = create();
    update(cluster, 2, spec(2));
    expect(cluster.advance(4_999) && [revisions(cluster), status(cluster)]).toEqual([
      [2, 2, 2, 2],
      'updating: update in progress',
    ]);
    expect(cluster.advance(1) && status(cluster)).toBe('completed: update completed');
    const writes = cluster.written.length;
    cluster.advance(600_000).lead();
    expect(cluster.advance(600_000).written.length).toBe(writes);
  });

  test.each([
    ['36: stop-first: never two of a slot run', 'stop-first', [0, 1]],
    ['37: start-first: never none of a slot runs', 'start-first', [1, 2]],
  ] as const)('%s', (_, Order, counts) => {
    const cluster = create({ replicas: 3 });
    const seen = new Set<number>();
    cluster.behaviour = (task) => {
      for (const slot of [1, 2, 3]) {
        seen.add(running(cluster).filter(({ record }) => record.slot === slot).length);
      }
      return wellBehaved(task);
    };
    update(cluster, 2, spec(2, { replicas: 3, update: { Order } }));
    cluster.advance(60_000);
    expect(revisions(cluster)).toEqual([2, 2, 2]);
    expect([...seen].toSorted((a, b) => a - b)).toEqual(counts);
  });

  test('start-first: the old task goes once its successor runs, though the next one waits for a node', () => {
    const cluster = create({ replicas: 1 });
    let isSlow = true;
    cluster.behaviour = (task) =>
      isSlow && task.record.template === 2 ? TaskState.starting : wellBehaved(task);
    const startFirst = { replicas: 1, update: { Order: 'start-first' as const } };
    update(cluster, 2, spec(2, startFirst));
    cluster.settle();
    const Constraints = ['node.labels.zone==nowhere'];
    const task = { ContainerSpec: { Image: 'i:3' }, Placement: { Constraints } };
    update(cluster, 3, spec(3, { ...startFirst, task }));
    isSlow = false;
    cluster.advance(60_000);
    expect(running(cluster).map(({ record }) => record.template)).toEqual([2]);
  });

  test('38: a failure pauses, and the message names the task', () => {
    const cluster = create();
    cluster.behaviour = failing(2);
    update(cluster, 2, spec(2));
    cluster.settle();
    const message = `update paused due to failure or early termination of task ${firstFailed(cluster)}`;
    expect(status(cluster)).toBe(`paused: ${message}`);
    expect(cluster.state.tasks.get(firstFailed(cluster))?.record.template).toBe(2);
    expect(cluster.advance(600_000) && revisions(cluster)).toEqual([1, 1, 1]);
  });

  test('39 and 40: a failure rolls back to the previous specification, which is then gone; no rollback of that', () => {
    const cluster = create();
    cluster.behaviour = failing(2);
    update(cluster, 2, spec(2, { update: { FailureAction: 'rollback' } }));
    cluster.settle();
    const service = cluster.state.services.get('s');
    expect(status(cluster)).toMatch(
      /^rollback_started: update rolled back due to failure or early termination of task [0-9a-z]{25}$/,
    );
    expect([service?.record?.spec, service?.record?.template, service?.previous]).toEqual([
      spec(1),
      1,
      undefined,
    ]);
    cluster.advance(20_000);
    expect([revisions(cluster), status(cluster)]).toEqual([
      [1, 1, 1, 1],
      'rollback_completed: rollback completed',
    ]);

    const hopeless = create();
    hopeless.behaviour = (task) =>
      task.record.created > 1_000_000 ? failing(1, 2)(task) : wellBehaved(task);
    update(hopeless, 2, spec(2, { update: { FailureAction: 'rollback' } }));
    hopeless.advance(20_000);
    expect(status(hopeless)).toMatch(
      /^rollback_paused: rollback paused due to failure or early termination of task /,
    );
  });

  test.each([
    ['below: goes on', 0.5, 'completed: update completed'],
    ['above: pauses', 0.2, 'paused: '],
  ])('41: MaxFailureRatio %s', (_, MaxFailureRatio, expected) => {
    const cluster = create();
    let first = '';
    cluster.behaviour = (task) => {
      first ||= task.record.template === 2 ? task.id : '';
      return task.id === first ? failing(2)(task) : wellBehaved(task);
    };
    update(cluster, 2, spec(2, { update: { MaxFailureRatio } }));
    cluster.advance(60_000);
    expect(status(cluster)).toContain(expected);
  });

  test('42: a task that ends after the time of monitoring is no failure of the update', () => {
    const cluster = create({ replicas: 2 });
    const config = { Delay: 30 * SECOND, Monitor: 2 * SECOND };
    update(cluster, 2, spec(2, { replicas: 2, update: config }));
    cluster.advance(2_001);
    const done = running(cluster).find(({ record }) => record.template === 2);
    cluster.report(done?.id ?? '', TaskState.failed);
    expect(status(cluster.settle())).toBe('updating: update in progress');

    const early = create({ replicas: 2 });
    update(early, 2, spec(2, { replicas: 2, update: config }));
    early.advance(2_000);
    early.report(running(early).find(({ record }) => record.template === 2)?.id ?? '', TaskState.failed);
    expect(status(early.settle())).toContain('paused: ');
  });

  test.each<[title: string, wanted: ServiceSpec, restarted: boolean]>([
    ['44: the same specification restarts nothing', spec(1), false],
    ['44: other labels of the service restart nothing', { ...spec(1), Labels: { a: 'b' } }, false],
    [
      '46: another placement that still fits restarts nothing',
      spec(1, { task: { Placement: { Constraints: ['node.role==worker'] } } }),
      false,
    ],
    [
      '46: another placement that fits no longer restarts',
      spec(1, { task: { Placement: { Constraints: ['node.hostname==n2'] } } }),
      true,
    ],
    ['16: a forced update restarts all though nothing differs', spec(1, { task: { ForceUpdate: 1 } }), true],
  ])('%s', (_, wanted, restarted) => {
    const cluster = create();
    const before = running(cluster).filter(({ record }) => restarted || record.node !== undefined);
    update(cluster, 2, wanted);
    cluster.advance(60_000);
    expect(running(cluster)).toHaveLength(4);
    const kept = before.filter((task) => observedState(task) === TaskState.running);
    expect(restarted ? kept.every(({ record }) => record.node === 'n2') : kept.length === 4).toBe(true);
    expect(status(cluster)).toBe(restarted ? 'completed: update completed' : '');
  });

  test('47: a new update cancels the old one', () => {
    const cluster = create();
    update(cluster, 2, spec(2, { update: { Delay: 10 * SECOND } }));
    cluster.advance(10_000);
    expect(revisions(cluster)).toEqual([1, 1, 2, 2]);
    update(cluster, 3, spec(3, { update: { Parallelism: 0 } }));
    cluster.advance(60_000);
    expect([revisions(cluster), status(cluster)]).toEqual([[3, 3, 3, 3], 'completed: update completed']);
    expect(Math.max(...cluster.tasks('s').map(({ record }) => record.slot ?? 0))).toBe(4);
  });

  test('48: a new leader goes on, with the failures counted so far', () => {
    const cluster = create();
    cluster.behaviour = failing(2);
    update(cluster, 2, spec(2, { update: { MaxFailureRatio: 0.3, Delay: 10 * SECOND } }));
    cluster.settle();
    expect(cluster.state.services.get('s')?.run?.update?.failed).toHaveLength(1);
    cluster.lead();
    cluster.advance(10_000);
    expect(status(cluster)).toContain('paused: ');
  });

  test('49: a rollback by hand uses its own configuration and says so', () => {
    const cluster = create();
    update(cluster, 2, spec(2));
    cluster.advance(60_000);
    const previous = cluster.state.services.get('s')?.previous;
    const swap: Write[] = [
      ...serviceWrites('s', previous?.spec ?? {}, {
        template: previous?.template ?? 0,
        templatesIssued: 2,
        rollback: { message: 'manually requested rollback' },
      }),
      put('previousService', { id: 's', spec: spec(2), template: 2 }),
    ];
    cluster.change(...swap);
    expect(status(cluster)).toBe('rollback_started: manually requested rollback');
    cluster.advance(20_000);
    expect([revisions(cluster), status(cluster)]).toEqual([
      [1, 1, 1, 1],
      'rollback_completed: rollback completed',
    ]);
  });

  test('50: scaling during an update: new slots are of the new kind, and the update ends', () => {
    const cluster = create();
    update(cluster, 2, spec(2, { update: { Delay: 10 * SECOND } }));
    cluster.settle().change(
      ...serviceWrites('s', spec(2, { replicas: 6, update: { Delay: 10 * SECOND } }), {
        template: 2,
        templatesIssued: 2,
      }),
    );
    expect(cluster.settle() && revisions(cluster)).toEqual([1, 1, 1, 2, 2, 2]);
    cluster.change(
      ...serviceWrites('s', spec(2, { replicas: 2, update: { Delay: 10 * SECOND } }), {
        template: 2,
        templatesIssued: 2,
      }),
    );
    cluster.advance(60_000);
    expect([revisions(cluster), status(cluster)]).toEqual([[2, 2], 'completed: update completed']);
  });

  test('51: old tasks of a slot that holds a good one are shut down', () => {
    const cluster = create();
    const [good] = cluster.tasks('s');
    const record = { ...good?.record, id: 'x', created: 1, node: 'n1', template: 1 };
    cluster.change(put('task', { ...record, service: 's', desired: TaskState.running, updated: 1 }));
    cluster.settle();
    expect(cluster.state.tasks.get('x')?.record.desired).toBe(TaskState.shutdown);
    expect(running(cluster)).toHaveLength(4);
  });

  test('52: a slot is done when its task is healthy, not before', () => {
    const cluster = create();
    let healthy = false;
    cluster.behaviour = (task) => {
      const wished = wellBehaved(task);
      return task.record.template === 2 && wished === TaskState.running && !healthy
        ? TaskState.starting
        : wished;
    };
    update(cluster, 2, spec(2));
    cluster.advance(600_000);
    expect(cluster.tasks('s').filter(({ record }) => record.template === 2)).toHaveLength(1);
    healthy = true;
    cluster.advance(60_000);
    expect([revisions(cluster), status(cluster)]).toEqual([[2, 2, 2, 2], 'completed: update completed']);
  });

  test('a global service is updated node by node', () => {
    const cluster = new PlannedCluster(nodes, serviceWrites('s', global(1))).settle();
    update(cluster, 2, global(2));
    expect(cluster.settle() && revisions(cluster)).toEqual([1, 1, 2]);
    cluster.change(...nodeWrites('n3', { Availability: 'pause' }));
    cluster.advance(60_000);
    expect([revisions(cluster), status(cluster)]).toEqual([[1, 2, 2], 'completed: update completed']);
    cluster.change(...nodeWrites('n3'));
    cluster.advance(60_000);
    expect(revisions(cluster)).toEqual([2, 2, 2]);
  });

  test('templates that nothing names any more are deleted', () => {
    const cluster = create();
    cluster.change(clusterWrite({ Orchestration: { TaskHistoryRetentionLimit: 0 } }));
    for (const revision of [2, 3, 4]) {
      update(cluster, revision, spec(revision));
      cluster.advance(60_000);
    }
    expect([...cluster.stored.keys()].filter((key) => key.startsWith('template'))).toEqual([
      'template/s/3',
      'template/s/4',
    ]);
    expect(cluster.tasks('s')).toHaveLength(4);
  });

  test('a node that is back gets nothing by itself; a forced update spreads the tasks again, some at a time', () => {
    const more = { replicas: 6, update: { Parallelism: 2, Delay: 10 * SECOND } };
    const cluster = create(more);
    const spread = (): number[] =>
      ['n1', 'n2', 'n3'].map(
        (node) => cluster.running('s').filter((each) => each.endsWith(`@${node}`)).length,
      );
    cluster.change(nodeState('n3', 'down'));
    cluster.advance(60_000);
    cluster.change(nodeState('n3', 'ready'));
    cluster.advance(3_600_000);
    expect(spread()).toEqual([3, 3, 0]);
    update(cluster, 2, spec(1, { ...more, task: { ForceUpdate: 1 } }));
    const renewed: number[] = [];
    while (renewed.at(-1) !== 6 && renewed.length < 10) {
      cluster.settle();
      renewed.push(revisions(cluster).filter((each) => each === 2).length);
      // It goes on under another leader.
      cluster.lead();
      cluster.pass();
      cluster.advance(10_000);
    }
    expect(renewed).toEqual([2, 4, 6]);
    expect(spread()).toEqual([2, 2, 2]);
  });
});

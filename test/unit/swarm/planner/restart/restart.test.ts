import { describe, expect, test } from 'vitest';
import type { ServiceMode } from '../../../../../api/types/swarm/service.ts';
import type { RestartPolicySpec } from '../../../../../api/types/swarm/task.ts';
import type { Write } from '../../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../../swarm/objects/task-state.ts';
import { slotOf, type SlotKey } from '../../../../../swarm/planner/state/entries.ts';
import { observedState } from '../../../../../swarm/planner/state/observed.ts';
import { nodeWrites, serviceWrites } from '../../../../support/swarm/builders.ts';
import { PlannedCluster } from '../../../../support/swarm/planned-cluster.ts';

const SECOND = 1e9;
const nodes = ['n1', 'n2'].flatMap((id) => nodeWrites(id));
const service = (policy: RestartPolicySpec, template = 1): Write[] =>
  serviceWrites(
    's',
    {
      TaskTemplate: { ContainerSpec: { Image: `i:${template}` }, RestartPolicy: policy },
      Mode: { Replicated: { Replicas: 1 } },
    },
    { template, templatesIssued: template },
  );
const cluster = (policy: RestartPolicySpec): PlannedCluster =>
  new PlannedCluster(nodes, service(policy)).settle();
const newest = (of: PlannedCluster): string => of.tasks('s').at(-1)?.id ?? '';
const failAfter = (of: PlannedCluster, ms: number): number => {
  of.advance(ms).report(newest(of), TaskState.failed);
  return of.advance(60_000).tasks('s').length;
};

describe('restart', () => {
  test.each<[title: string, condition: 'none' | 'on-failure' | 'any', end: TaskState, tasks: number]>([
    ['24: any, after success', 'any', TaskState.complete, 2],
    ['24: any, after failure', 'any', TaskState.failed, 2],
    ['25: on-failure, after exit 0 stays complete', 'on-failure', TaskState.complete, 1],
    ['25: on-failure, after failure', 'on-failure', TaskState.failed, 2],
    ['26: none, after success', 'none', TaskState.complete, 1],
    ['26: none, after failure', 'none', TaskState.failed, 1],
  ])('%s', (_, Condition, end, tasks) => {
    const c = cluster({ Condition });
    c.report(newest(c), end);
    expect(c.advance(60_000).tasks('s')).toHaveLength(tasks);
    expect(c.running('s')).toHaveLength(tasks - 1);
    c.lead();
    expect(c.advance(60_000).tasks('s')).toHaveLength(tasks);
  });

  test('27: the delay is kept, and another failure within it waits for it', () => {
    const c = cluster({ Delay: 10 * SECOND });
    c.report(newest(c), TaskState.failed);
    expect(c.advance(9_999).running('s')).toEqual([]);
    expect(c.advance(1).running('s')).toHaveLength(1);
    c.report(newest(c), TaskState.failed);
    c.advance(2_000).report(newest(c), TaskState.rejected);
    c.behaviour = ({ record }) => (record.desired === TaskState.running ? TaskState.running : undefined);
    expect(c.advance(7_999).tasks('s')).toHaveLength(3);
    expect(c.advance(1).tasks('s')).toHaveLength(4);
    expect(c.advance(9_999).running('s')).toEqual([]);
    expect(c.advance(1).running('s')).toHaveLength(1);
  });

  test('28: MaxAttempts counts per slot', () => {
    const c = cluster({ MaxAttempts: 2 });
    expect([failAfter(c, 0), failAfter(c, 0), failAfter(c, 0)]).toEqual([2, 3, 3]);
    expect(c.running('s')).toEqual([]);
  });

  test.each<[title: string, mode: ServiceMode]>([
    ['28: one slot has no attempt left, another one has all', { Replicated: { Replicas: 2 } }],
    ['28: of a global service attempts count per node', { Global: {} }],
  ])('%s', (_, Mode) => {
    const spec = { Mode, TaskTemplate: { RestartPolicy: { MaxAttempts: 1 } } };
    const c = new PlannedCluster(nodes, serviceWrites('s', spec)).settle();
    const [first, second] = c.tasks('s').map(({ record }) => slotOf(record));
    const failIn = (slot: SlotKey | undefined): string[] => {
      c.report(c.tasks('s').findLast(({ record }) => slotOf(record) === slot)?.id ?? '', TaskState.failed);
      return c
        .advance(60_000)
        .running('s')
        .map((each) => each.split('@')[0] ?? '');
    };
    const both = [String(first), String(second)];
    expect([failIn(first), failIn(first), failIn(second), failIn(second)]).toEqual([
      both,
      [both[1]],
      [both[1]],
      [],
    ]);
  });

  test('29: attempts before the window are forgotten', () => {
    const c = cluster({ MaxAttempts: 1, Window: 120 * SECOND });
    expect(failAfter(c, 0)).toBe(2);
    expect(failAfter(c, 200_000)).toBe(3);
    expect(failAfter(c, 0)).toBe(3);
  });

  test('30: a new revision of the template clears the count', () => {
    const c = cluster({ MaxAttempts: 1 });
    expect([failAfter(c, 0), failAfter(c, 0)]).toEqual([2, 2]);
    c.change(...service({ MaxAttempts: 1 }, 2));
    expect(c.advance(60_000).running('s')).toHaveLength(1);
    c.report(newest(c), TaskState.failed);
    expect(c.advance(60_000).running('s')).toHaveLength(1);
    c.report(newest(c), TaskState.failed);
    expect(c.advance(60_000).running('s')).toHaveLength(0);
  });

  test('31: counts survive a change of leader', () => {
    const c = cluster({ MaxAttempts: 2 });
    failAfter(c, 0);
    c.lead();
    failAfter(c, 0);
    c.lead();
    expect([failAfter(c, 0), c.running('s').length]).toEqual([3, 0]);
  });

  test('32: the new task waits for the old one to stop, a minute at most', () => {
    const c = cluster({});
    const [old] = c.advance(1).tasks('s');
    c.behaviour = (task) =>
      task === old ? undefined : task.record.desired === TaskState.running ? TaskState.running : undefined;
    c.change(...nodeWrites(old?.record.node ?? '', { Availability: 'drain' }));
    expect(
      c
        .advance(59_999)
        .tasks('s')
        .map(({ record }) => record.desired),
    ).toEqual([TaskState.shutdown, TaskState.ready]);
    expect(c.advance(1).running('s')).toHaveLength(2);

    const quick = cluster({});
    const node = quick.tasks('s')[0]?.record.node ?? '';
    quick.change(...nodeWrites(node, { Availability: 'drain' }));
    expect(quick.settle().tasks('s').map(observedState)).toEqual([TaskState.shutdown, TaskState.running]);
  });

  test('33: a task that can never start is tried at the pace of the delay', () => {
    const c = new PlannedCluster(nodes, service({ Delay: 5 * SECOND }));
    const tried = new Set<string>();
    c.behaviour = ({ id }) => {
      tried.add(id);
      return TaskState.rejected;
    };
    c.advance(60_000);
    expect(tried.size).toBeGreaterThan(5);
    expect(tried.size).toBeLessThanOrEqual(14);
  });
});

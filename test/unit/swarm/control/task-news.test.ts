import { expect, test } from 'vitest';
import { TaskReporter, type TaskNews } from '../../../../swarm/control/events/task-news.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import type { TaskRecord, TaskStatus } from '../../../../swarm/objects/task.ts';
import { controlRig, NOBODY, type ControlRig } from '../../../support/swarm/control-rig.ts';

const LEADER = { node: 'm1', addr: 'a:1', isLeader: true, reachability: 'reachable' } as const;

function watch(rig: ControlRig, told: TaskNews[]): TaskReporter {
  return new TaskReporter({
    ...rig.context,
    managers: { list: () => [LEADER] },
    nodeId: 'm1',
    told: (news) => told.push(news),
  });
}

function status(state: TaskState, more: Partial<TaskStatus> = {}): TaskStatus {
  return { id: 't1', state, at: Date.now(), message: '', ...more };
}

function lines(all: readonly TaskNews[]): string[] {
  return all.map(({ stage, node, error, exitCode }) => [stage, node?.name, error, exitCode].join(' ').trim());
}

test('tasks: each stage of a task is told once, with why, and again to the next manager when it is new', async () => {
  await using rig = await controlRig();
  const { cluster } = rig.context;
  const { ID } = await rig.control.services.create(
    {
      Name: 'web',
      Labels: { 'com.docker.stack.namespace': 'shop' },
      TaskTemplate: { ContainerSpec: { Image: 'busybox:1' } },
      Mode: { Replicated: { Replicas: 0 } },
    },
    { pinImage: false, signal: NOBODY },
  );
  const told: TaskNews[] = [];
  using _reporter = watch(rig, told);
  const now = Date.now();
  const record: TaskRecord = {
    id: 't1',
    service: ID,
    slot: 1,
    template: 1,
    desired: TaskState.running,
    created: now,
    updated: now,
  };
  const refusal = { state: TaskState.pending, error: 'no suitable node', at: now };
  const steps = [
    put('task', record),
    put('task', { ...record, refusal }),
    put('task', { ...record, refusal, updated: now + 1 }),
    put('task', { ...record, node: 'n1' }),
    put('status', status(TaskState.preparing)),
    put('status', status(TaskState.running)),
    put('status', status(TaskState.running, { ports: [] })),
    put('status', status(TaskState.failed, { error: 'exit 3', container: { id: 'c1', exitCode: 3 } })),
  ];
  for (const part of steps) {
    await cluster.commit({ conditions: [], parts: [part] });
  }
  expect(lines(told)).toEqual([
    'not-scheduled  no suitable node',
    'scheduled n1',
    'running n1',
    'failed n1 exit 3 3',
  ]);
  expect(told[0]).toMatchObject({ name: 'web.1.t1', stack: 'shop', service: ID, isLeader: true });
  const later: TaskNews[] = [];
  using _next = watch(rig, later);
  expect(lines(later)).toEqual(['failed n1 exit 3 3']);
  await cluster.commit({
    conditions: [],
    parts: [put('status', status(TaskState.failed, { at: now - 3_600_000 }))],
  });
  const old: TaskNews[] = [];
  using _last = watch(rig, old);
  expect(old).toEqual([]);
});

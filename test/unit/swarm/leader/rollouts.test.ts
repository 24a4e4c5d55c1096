import { armHere } from '../../../support/fakes/failpoints.ts';
import { afterEach, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import type { ServiceRecord, UpdateRecord } from '../../../../swarm/objects/service.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { newService, type Service } from '../../../../swarm/planner/state/entries.ts';
import { rolloutOf, rolloutsLoop } from '../../../../swarm/leader/rollouts.ts';
import { serviceWrites, taskRecord } from '../../../support/swarm/builders.ts';
import { SwarmRig } from '../../../support/swarm/manager-rig.ts';

const IMAGE = '127.0.0.1:5010/acme/app:v1';

afterEach(() => armHere(''));

function service(more: Partial<ServiceRecord> = {}, update?: Partial<UpdateRecord>): Service {
  const made = newService('s1');
  made.record = {
    id: 's1',
    created: 0,
    updated: 0,
    spec: {
      Name: 'web',
      Mode: { Replicated: { Replicas: 2 } },
      TaskTemplate: { ContainerSpec: { Image: IMAGE } },
    },
    template: 2,
    templatesIssued: 2,
    ...more,
  };
  if (update !== undefined) {
    const whole: UpdateRecord = {
      state: 'updating',
      message: 'told',
      started: 0,
      template: 2,
      slots: 2,
      failed: [],
    };
    made.run = { id: 's1', update: { ...whole, ...update } };
  }
  return made;
}

/** Tasks as `TEMPLATE:STATE`, desired to run. */
function withTasks(made: Service, ...tasks: readonly string[]): Service {
  tasks.forEach((text, at) => {
    const [template, state = 'running'] = text.split(':');
    const id = `t${at}`;
    made.tasks.add({
      id,
      record: taskRecord(id, 's1', { template: Number(template), desired: TaskState.running }),
      status: { id, state: TaskState[state as keyof typeof TaskState], at: 0, message: '' },
    });
  });
  return made;
}

test.each([
  [[], 'pending'],
  [['1', '1'], 'pending'],
  [['2:starting', '2'], 'in_progress'],
  [['2'], 'in_progress'],
  [['1', '2'], 'in_progress'],
  [['2', '2'], 'success'],
])('a service without an update, with tasks %j, is at %s', (tasks, state) => {
  expect(rolloutOf(withTasks(service(), ...tasks))).toEqual({
    service: 's1',
    name: 'web',
    image: IMAGE,
    template: 2,
    isRollback: false,
    state,
    message: '',
  });
});

test.each([
  ['updating', 'in_progress'],
  ['paused', 'failure'],
  ['completed', 'success'],
  ['rollback_started', 'in_progress'],
  ['rollback_paused', 'failure'],
  ['rollback_completed', 'success'],
] as const)('a service whose update is %s is at %s', (update, state) => {
  expect(rolloutOf(service({}, { state: update }))).toMatchObject({ state, message: 'told' });
});

test('an update to something else does not count, a rollback is told, jobs and removed services are not', () => {
  expect(rolloutOf(service({}, { state: 'completed', template: 1 }))?.state).toBe('pending');
  expect(rolloutOf(service({ rollback: { message: 'x' } }))?.isRollback).toBe(true);
  expect(rolloutOf(service({ spec: { Mode: { GlobalJob: {} } } }))).toBe(undefined);
  expect(rolloutOf(newService('s2'))).toBe(undefined);
});

test('rollouts that could not be told are told at the next try, and then at each look', async () => {
  const rig = new SwarmRig();
  const manager = await rig.manager();
  await manager.begin(serviceWrites('s1', { Mode: { Replicated: { Replicas: 0 } } }));
  const told: string[][] = [];
  const loop = rolloutsLoop({
    clock: rig.clock,
    logger: silentLogger,
    rollouts: {
      wants: () => true,
      tell: async (rollouts) => void told.push(rollouts.map(({ name, state }) => `${name} ${state}`)),
    },
  });
  armHere('swarm.rollouts.tell=error');
  await manager.lead({ loops: [loop] });
  await rig.clock.advance(100);
  expect(told).toEqual([]);
  armHere('');
  const all = ['s1 success'];
  // Well before the next look.
  await rig.clock.advance(limits.swarmRolloutLookMs / 5);
  expect(told).toEqual([all]);
  await rig.clock.advance(limits.swarmRolloutLookMs);
  expect(told).toEqual([all, all]);
  await manager.leadership?.[Symbol.asyncDispose]();
});

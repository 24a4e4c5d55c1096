import { expect, test } from 'vitest';
import { EngineError } from '../../../../daemon/base/errors.ts';
import { afterFailure, afterStep, nextAction } from '../../../../swarm/agent/task-step.ts';
import type { TaskResult } from '../../../../swarm/agent/task-step.ts';
import { TaskState, taskStateName } from '../../../../swarm/objects/task-state.ts';
import type { TaskStateName } from '../../../../swarm/objects/task-state.ts';

const ON_THE_WAY = [
  'new',
  'pending',
  'assigned',
  'accepted',
  'preparing',
  'ready',
  'starting',
  'running',
] as const;
const ENDS = ['complete', 'shutdown', 'failed', 'rejected', 'orphaned'] as const;

function shown(state: TaskStateName, desired: TaskStateName): string {
  const action = nextAction(TaskState[state], TaskState[desired]);
  return action.kind === 'move' ? `${taskStateName(action.state)}: ${action.message}` : action.kind;
}

/** By state: what is done where `ready`, `running` and `complete` are desired. */
const CLIMB: Record<(typeof ON_THE_WAY)[number], [string, string, string]> = {
  new: ['accepted: accepted', 'accepted: accepted', 'accepted: accepted'],
  pending: ['accepted: accepted', 'accepted: accepted', 'accepted: accepted'],
  assigned: ['accepted: accepted', 'accepted: accepted', 'accepted: accepted'],
  accepted: ['preparing: preparing', 'preparing: preparing', 'preparing: preparing'],
  preparing: ['prepare', 'prepare', 'prepare'],
  ready: ['rest', 'starting: starting', 'starting: starting'],
  starting: ['start', 'start', 'start'],
  running: ['wait', 'wait', 'wait'],
};

test.each(ON_THE_WAY)('a task that is %s climbs to what is desired and no further', (state) => {
  const desired = ['ready', 'running', 'complete'] as const;
  expect(desired.map((each) => shown(state, each))).toEqual(CLIMB[state]);
});

test.each(ON_THE_WAY)('a task that is %s is stopped once it is to end', (state) => {
  expect(['shutdown', 'remove'].map((desired) => shown(state, desired as TaskStateName))).toEqual([
    'stop',
    'stop',
  ]);
});

test.each(ENDS)('a task that is %s rests, whatever is desired', (state) => {
  const desired = ['ready', 'running', 'complete', 'shutdown', 'remove'] as const;
  expect(desired.map((each) => shown(state, each))).toEqual(desired.map(() => 'rest'));
});

const RUNNING = { id: 't', state: TaskState.running, message: 'started', container: { id: 'c', pid: 7 } };

test.each<[string, TaskResult, object]>([
  [
    'prepared',
    { kind: 'prepared', container: 'c' },
    { state: 'ready', message: 'prepared', container: { id: 'c' } },
  ],
  [
    'started',
    { kind: 'started', started: { container: 'c', pid: 9, ports: [{ PublishedPort: 80 }] } },
    { state: 'running', message: 'started', container: { id: 'c', pid: 9 }, ports: [{ PublishedPort: 80 }] },
  ],
  [
    'unhealthy before it was healthy',
    { kind: 'started', started: { container: 'c', exitCode: 143, cause: 'dockerexec: unhealthy container' } },
    {
      state: 'failed',
      message: 'started',
      error: 'task: non-zero exit (143): dockerexec: unhealthy container',
      container: { id: 'c', pid: 7, exitCode: 143 },
    },
  ],
  [
    'ended well',
    { kind: 'ended', end: { container: 'c', exitCode: 0 } },
    { state: 'complete', message: 'finished', container: { id: 'c', pid: 7, exitCode: 0 } },
  ],
  [
    'ended badly',
    { kind: 'ended', end: { container: 'c', exitCode: 3 } },
    {
      state: 'failed',
      message: 'started',
      error: 'task: non-zero exit (3)',
      container: { id: 'c', pid: 7, exitCode: 3 },
    },
  ],
  [
    'unhealthy, and ended by its stop signal without an error',
    { kind: 'ended', end: { container: 'c', exitCode: 0, cause: 'dockerexec: unhealthy container' } },
    {
      state: 'failed',
      message: 'started',
      error: 'task: dockerexec: unhealthy container',
      container: { id: 'c', pid: 7, exitCode: 0 },
    },
  ],
  [
    'stopped',
    { kind: 'stopped', end: { container: 'c', exitCode: 137 } },
    { state: 'shutdown', message: 'shutdown', container: { id: 'c', pid: 7, exitCode: 137 } },
  ],
  [
    'stopped before it ran',
    { kind: 'stopped', end: undefined },
    { state: 'shutdown', message: 'shutdown', container: { id: 'c', pid: 7 } },
  ],
])('a task that was %s says so', (_what, result, expected) => {
  const { state, ...rest } = afterStep({ ...RUNNING, error: 'of a try before' }, result);
  expect({ ...rest, state: taskStateName(state) }).toEqual({ id: 't', ...expected });
});

function after(state: TaskStateName, error: unknown): string {
  const status = afterFailure({ id: 't', state: TaskState[state], message: 'm' }, error);
  return `${taskStateName(status.state)} ${status.message} ${status.error ?? ''}`;
}

test('an error rejects a task before its start, fails it from then on, and stays where it may pass', () => {
  const lasting = new EngineError('not_found', 'No such image: x:latest');
  expect(after('preparing', lasting)).toBe('rejected m No such image: x:latest');
  expect(after('starting', lasting)).toBe('failed m No such image: x:latest');
  expect(after('running', lasting)).toBe('failed m No such image: x:latest');
  expect(after('preparing', new EngineError('unavailable', 'later'))).toBe('preparing m later');
  expect(after('starting', new EngineError('deadline_exceeded', 'slow'))).toBe('starting m slow');
});

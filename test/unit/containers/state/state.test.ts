import { expect, test } from 'vitest';
import type { ContainerEvent, ContainerState } from '../../../../daemon/containers/state/state.ts';
import { transition } from '../../../../daemon/containers/state/state.ts';
import { decodeState, encodeState } from '../../../../daemon/containers/state/state-codec.ts';

const created = { status: 'created', exitCode: 0, error: '' } as const;
const ended = { exitCode: 1, error: '', oomKilled: false, startedAtNano: 1n, finishedAtNano: 2n };
const exited = { status: 'exited', ...ended, restartCount: 0, userStopped: false } as const;
const live = {
  process: { pid: 7, startTime: '70' },
  bootId: 'boot',
  startedAtNano: 1n,
  sandbox: { netnsPath: null, ownerId: 'c', endpoints: {}, ports: {}, hosts: '', resolvConf: '' },
  restartCount: 2,
  restartDelayMs: 200,
  stopRequested: false,
  lastFinishedAtNano: null,
};

const states: ContainerState[] = [
  created,
  { status: 'starting', from: created },
  { status: 'running', ...live },
  { status: 'paused', ...live },
  { status: 'restarting', ...ended, restartCount: 3, restartDelayMs: 400, nextAttemptNano: 9n },
  exited,
  { status: 'removing', from: exited, withVolumes: true },
  { status: 'dead', from: exited, error: 'EIO' },
];

const events: ContainerEvent[] = [
  { type: 'start' },
  {
    type: 'started',
    process: live.process,
    bootId: 'boot',
    startedAtNano: 5n,
    sandbox: live.sandbox,
  },
  { type: 'start_failed', exitCode: 127, error: 'no such file' },
  { type: 'exit', exitCode: 3, oomKilled: false, finishedAtNano: 6n, restart: null },
  { type: 'stop' },
  { type: 'oom' },
  { type: 'unrun', finishedAtNano: 6n },
  { type: 'pause' },
  { type: 'unpause' },
  { type: 'remove', withVolumes: false },
  { type: 'remove_failed', error: 'EBUSY' },
];

const cell = (state: ContainerState, event: ContainerEvent): string => {
  const result = transition(state, event);
  return 'to' in result ? `-> ${result.to.status}` : `${result.refused}: ${result.why}`;
};

test('transition: decides every pair of state and event', () => {
  const table = Object.fromEntries(
    states.map((state) => [
      state.status,
      Object.fromEntries(events.map((event) => [event.type, cell(state, event)])),
    ]),
  );
  expect(table).toMatchInlineSnapshot(`
    {
      "created": {
        "exit": "conflict: is not running",
        "oom": "conflict: is not running",
        "pause": "conflict: is not running",
        "remove": "-> removing",
        "remove_failed": "conflict: is not being removed",
        "start": "-> starting",
        "start_failed": "conflict: is not starting",
        "started": "conflict: is not starting",
        "stop": "not_modified: is already stopped",
        "unpause": "conflict: is not paused",
        "unrun": "conflict: is not running",
      },
      "dead": {
        "exit": "conflict: is not running",
        "oom": "conflict: is not running",
        "pause": "conflict: is not running",
        "remove": "-> removing",
        "remove_failed": "conflict: is not being removed",
        "start": "conflict: is marked for removal and cannot be started",
        "start_failed": "conflict: is not starting",
        "started": "conflict: is not starting",
        "stop": "not_modified: is already stopped",
        "unpause": "conflict: is not paused",
        "unrun": "conflict: is not running",
      },
      "exited": {
        "exit": "conflict: is not running",
        "oom": "conflict: is not running",
        "pause": "conflict: is not running",
        "remove": "-> removing",
        "remove_failed": "conflict: is not being removed",
        "start": "-> starting",
        "start_failed": "conflict: is not starting",
        "started": "conflict: is not starting",
        "stop": "not_modified: is already stopped",
        "unpause": "conflict: is not paused",
        "unrun": "conflict: is not running",
      },
      "paused": {
        "exit": "-> exited",
        "oom": "-> paused",
        "pause": "conflict: is already paused",
        "remove": "conflict: is paused",
        "remove_failed": "conflict: is not being removed",
        "start": "conflict: is paused, unpause it instead of starting it",
        "start_failed": "conflict: is not starting",
        "started": "conflict: is not starting",
        "stop": "-> paused",
        "unpause": "-> running",
        "unrun": "conflict: is not running",
      },
      "removing": {
        "exit": "conflict: is not running",
        "oom": "conflict: is not running",
        "pause": "conflict: is not running",
        "remove": "conflict: is already being removed",
        "remove_failed": "-> dead",
        "start": "conflict: is marked for removal and cannot be started",
        "start_failed": "conflict: is not starting",
        "started": "conflict: is not starting",
        "stop": "not_modified: is already stopped",
        "unpause": "conflict: is not paused",
        "unrun": "conflict: is not running",
      },
      "restarting": {
        "exit": "conflict: is not running",
        "oom": "conflict: is not running",
        "pause": "conflict: is not running",
        "remove": "conflict: is restarting",
        "remove_failed": "conflict: is not being removed",
        "start": "-> starting",
        "start_failed": "conflict: is not starting",
        "started": "conflict: is not starting",
        "stop": "-> exited",
        "unpause": "conflict: is not paused",
        "unrun": "conflict: is not running",
      },
      "running": {
        "exit": "-> exited",
        "oom": "-> running",
        "pause": "-> paused",
        "remove": "conflict: is running",
        "remove_failed": "conflict: is not being removed",
        "start": "not_modified: is already started",
        "start_failed": "conflict: is not starting",
        "started": "conflict: is not starting",
        "stop": "-> running",
        "unpause": "conflict: is not paused",
        "unrun": "-> restarting",
      },
      "starting": {
        "exit": "conflict: is not running",
        "oom": "conflict: is not running",
        "pause": "conflict: is not running",
        "remove": "conflict: is running",
        "remove_failed": "conflict: is not being removed",
        "start": "not_modified: is already started",
        "start_failed": "-> created",
        "started": "-> running",
        "stop": "conflict: is starting",
        "unpause": "conflict: is not paused",
        "unrun": "conflict: is not running",
      },
    }
  `);
});

const begin = (from: ContainerState): unknown => {
  const starting = transition(from, { type: 'start' });
  const running = 'to' in starting ? transition(starting.to, events[1]!) : starting;
  return 'to' in running && running.to.status === 'running'
    ? [running.to.restartCount, running.to.restartDelayMs, running.to.lastFinishedAtNano]
    : running;
};

test('transition: keeps what the policy counted over its own restarts, and starts anew for a person', () => {
  expect(states.map((state) => [state.status, begin(state)]).filter(([, result]) => Array.isArray(result)))
    .toMatchInlineSnapshot(`
      [
        [
          "created",
          [
            0,
            0,
            null,
          ],
        ],
        [
          "restarting",
          [
            3,
            400,
            2n,
          ],
        ],
        [
          "exited",
          [
            0,
            0,
            2n,
          ],
        ],
      ]
    `);
});

test('a state survives the database', () => {
  const stored = states
    .filter(({ status }) => status !== 'starting')
    .map((state) => [state, decodeState(JSON.parse(JSON.stringify(encodeState(state))))]);
  stored.forEach(([before, after]) => expect(after).toEqual(before));
});

test.each([
  null,
  'running',
  {},
  { status: 'starting' },
  { status: 'running' },
  { status: 'exited', exitCode: 1 },
])('a row that holds no state is refused: %j', (stored) => {
  expect(() => decodeState(stored)).toThrow('the database holds no container state');
});

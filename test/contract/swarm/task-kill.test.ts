import { mkdtempSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../daemon/base/clock.ts';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Agent } from '../../../swarm/agent/agent.ts';
import { TaskState } from '../../../swarm/objects/task-state.ts';
import type { AssignedTask } from '../../../swarm/protocol/session.ts';
import { differences } from '../../support/engine/oracle.ts';
import { taskToRun } from '../../support/tasks/executor-contract.ts';
import { FakeLeader, taskId } from '../../support/swarm/fake-leader.ts';
import { TaskDaemon } from '../../support/tasks/task-daemon-client.ts';
import { waitFor } from '../../support/wait-for.ts';

let tasks: TaskDaemon;
let directory: string;

beforeAll(async () => {
  tasks = await TaskDaemon.make({ armable: true });
  directory = mkdtempSync('/tmp/berth-test-agent-');
});
afterAll(async () => {
  await tasks[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

/** A node with its agent, whose leader is this test. */
async function startAgent(leader: FakeLeader): Promise<Agent> {
  return await Agent.start({
    executor: tasks.executor,
    dial: leader.dial,
    managers: () => [{ node: 'm', addr: 'm:2377' }],
    clock: systemClock,
    logger: silentLogger,
    random: { bytes: (count) => new Uint8Array(count) },
    stateDirectory: directory,
    node: { id: 'node1', hostname: 'host1' },
    addr: '',
    dataAddr: '',
    tlsInfo: () => ({}),
    onNode: () => undefined,
    onRoot: () => undefined,
    onManagers: () => undefined,
  });
}

async function told(leader: FakeLeader, task: string, expected: string | RegExp): Promise<void> {
  await waitFor(() => expect(leader.seen(task)).toMatch(expected));
}

/** Daemon and agent die together, at a step; others take their place. */
async function dieAt(point: string, agent: Agent): Promise<Agent> {
  await waitFor(() => expect(tasks.daemon.isRunning(), point).toBe(false));
  await agent[Symbol.asyncDispose]();
  tasks.daemon.arm('');
  await tasks.restart();
  const leader = new FakeLeader();
  next = leader;
  return await startAgent(leader);
}

let next: FakeLeader;
let number = 0;

/** A task that needs a secret and publishes a port; all that it has for it comes with it. */
function assigned(): {
  task: AssignedTask;
  secrets: { id: string; name: string; data: string; isTemplate: false }[];
} {
  number += 1;
  const {
    name: _name,
    node: _node,
    secrets: _secrets,
    configs: _configs,
    ...task
  } = taskToRun(taskId(number), {
    hostPorts: [{ Protocol: 'tcp', TargetPort: 80, PublishMode: 'host' }],
    spec: {
      ContainerSpec: {
        Command: ['sh', '-c', 'test -s /run/secrets/pw || exit 99; while :; do sleep 1; done'],
        Args: [],
        Secrets: [
          { SecretID: 's1', SecretName: 'pw', File: { Name: 'pw', UID: '0', GID: '0', Mode: 0o444 } },
        ],
      },
    },
  });
  return { task, secrets: [{ id: 's1', name: 'pw', data: 'Z2VoZWlt', isTemplate: false }] };
}

test.each([
  'tasks.files.mount',
  'mounts.secrets',
  'tasks.files.write',
  'tasks.prepare.create',
  'containers.create.rootfs',
  'containers.create.volumes',
  'tasks.prepare.created',
  'tasks.start',
  'containers.start.sandbox',
  'containers.start.launch',
  'containers.start.launched',
  'containers.start.commit',
  'containers.start.begin',
  'containers.start.begun',
])(
  '101: a daemon that dies at %s runs its task once when it is back',
  async (point) => {
    const { task, secrets } = assigned();
    tasks.daemon.arm(`${point}=sigkill`);
    const first = new FakeLeader();
    const doomed = await startAgent(first);
    await waitFor(() => expect(first.session.isOpen).toBe(true));
    first.session.assign([task], { secrets });
    await using agent = await dieAt(point, doomed);
    await waitFor(() => expect(next.session.isOpen).toBe(true));
    next.session.assign([task], { secrets });
    await told(next, task.id, 'running | started');
    expect(await tasks.daemon.http.ok<unknown[]>('GET', '/containers/json?all=1')).toHaveLength(1);
    expect(await tasks.starts(task.id)).toBe(1);
    await agent.leave();
    expect(await tasks.executor.leftovers()).toEqual([]);
    expect(await differences(tasks.daemon)).toEqual([]);
  },
  120_000,
);

test.each(['tasks.stop', 'containers.stop.signalled', 'tasks.remove', 'tasks.files.remove'])(
  'a daemon that dies at %s takes its task away when it is back',
  async (point) => {
    const { task, secrets } = assigned();
    const first = new FakeLeader();
    const doomed = await startAgent(first);
    await waitFor(() => expect(first.session.isOpen).toBe(true));
    first.session.assign([task], { secrets });
    await told(first, task.id, 'running | started');
    tasks.daemon.arm(`${point}=sigkill`);
    first.session.assign([], { full: true });
    await using agent = await dieAt(point, doomed);
    await waitFor(() => expect(next.session.isOpen).toBe(true));
    next.session.assign([]);
    await waitFor(async () => expect(await tasks.executor.leftovers()).toEqual([]));
    await agent.leave();
    expect(await differences(tasks.daemon)).toEqual([]);
  },
  120_000,
);

test('102: a daemon that dies while its tasks run finds them again without a manager', async () => {
  const { task, secrets } = assigned();
  const first = new FakeLeader();
  const doomed = await startAgent(first);
  await waitFor(() => expect(first.session.isOpen).toBe(true));
  const { task: waiting } = assigned();
  first.session.assign([task, { ...waiting, desired: TaskState.ready }], { secrets });
  await told(first, task.id, 'running | started');
  await told(first, waiting.id, 'ready | prepared');
  await tasks.daemon.kill9();
  await doomed[Symbol.asyncDispose]();
  await tasks.restart();
  const silent = new FakeLeader();
  silent.refusals.set('m:2377', new Error('nobody answers'));
  await using agent = await startAgent(silent);
  const { State } = await tasks.daemon.http.ok<{ State: { Pid: number } }>(
    'GET',
    `/containers/web.1.${task.id}/json`,
  );
  process.kill(State.Pid, 'SIGKILL');
  await waitFor(async () =>
    expect(await tasks.executor.wait(task, new AbortController().signal)).toMatchObject({ exitCode: 137 }),
  );
  silent.refusals.clear();
  await waitFor(() => expect(silent.session.isOpen).toBe(true));
  await told(silent, task.id, 'failed | started | task: non-zero exit (137)');
  await told(silent, waiting.id, 'ready | prepared');
  await agent.leave();
}, 120_000);

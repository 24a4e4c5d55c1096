import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EngineError, notFound } from '../../../../daemon/base/errors.ts';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Agent } from '../../../../swarm/agent/agent.ts';
import { ManagerWeights } from '../../../../swarm/agent/manager-weights.ts';
import { notLeader } from '../../../../swarm/protocol/not-leader.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { FakeExecutor } from '../../../support/swarm/fake-executor.ts';
import { assignedTask, FakeLeader, taskId } from '../../../support/swarm/fake-leader.ts';
import { waitFor } from '../../../support/wait-for.ts';

const [ONE, TWO] = [taskId(1), taskId(2)];

let directory: string;
let clock: ManualClock;
let executor: FakeExecutor;
let leader: FakeLeader;
let agents: Agent[];
let told: unknown[];
let managers: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-test-agent-'));
  clock = new ManualClock();
  executor = new FakeExecutor();
  leader = new FakeLeader();
  agents = [];
  told = [];
  managers = ['m1:2377'];
});

afterEach(async () => {
  await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  rmSync(directory, { recursive: true, force: true });
});

async function startAgent(): Promise<Agent> {
  const agent = await Agent.start({
    executor,
    dial: leader.dial,
    managers: () => managers.map((addr, at) => ({ node: `n${at}`, addr })),
    clock,
    logger: silentLogger,
    random: { bytes: (count) => new Uint8Array(count) },
    stateDirectory: directory,
    node: { id: 'node1', hostname: 'host1' },
    addr: '10.0.0.1',
    dataAddr: '',
    tlsInfo: () => ({ TrustRoot: 'pem' }),
    onNode: (message) => told.push(message),
    onRoot: (message) => told.push(message),
    onManagers: (message) => told.push(message),
  });
  agents.push(agent);
  return agent;
}

/** The daemon dies: nothing of the agent goes on, but what it wrote. */
async function killAgent(agent: Agent): Promise<void> {
  await agent[Symbol.asyncDispose]();
}

async function pass(ms: number): Promise<void> {
  await clock.advance(ms);
  await settled();
}

async function seen(task: string): Promise<string> {
  await pass(100);
  await pass(100);
  return leader.seen(task);
}

async function withSession(): Promise<Agent> {
  const agent = await startAgent();
  await waitFor(() => expect(leader.session.isOpen).toBe(true));
  return agent;
}

async function until(task: string, expected: string): Promise<void> {
  await waitFor(async () => expect(await seen(task)).toBe(expected));
}

test('a session is opened with a description, and says what the node shall know', async () => {
  const agent = await withSession();
  expect(leader.session.request).toEqual({
    addr: '10.0.0.1',
    description: { ...executor.description, TLSInfo: { TrustRoot: 'pem' } },
  });
  expect(agent.trouble).toBe(undefined);
  const wish = { spec: { Role: 'worker', Availability: 'active' }, role: 'worker' } as const;
  const root = { trustPem: 'pem', issuerSubject: 's', issuerPublicKey: 'k' };
  leader.session.tell({ kind: 'managers', managers: [{ node: 'n1', addr: 'm1:2377' }] });
  leader.session.tell({ kind: 'node', ...wish });
  leader.session.tell({ kind: 'root', ...root });
  await settled();
  expect(told).toEqual([[{ node: 'n1', addr: 'm1:2377' }], wish, root]);
});

test('a manager that does not lead says who does, and that one is asked at once', async () => {
  leader.refusals.set('m1:2377', notLeader('m2:2377'));
  await withSession();
  expect(leader.dialled).toEqual(['m1:2377', 'm2:2377']);
});

test('two managers that take each other for the leader are asked with pauses', async () => {
  leader.refusals.set('m1:2377', notLeader('m2:2377'));
  leader.refusals.set('m2:2377', notLeader('m1:2377'));
  const agent = await startAgent();
  await settled();
  expect(leader.dialled).toEqual(['m1:2377', 'm2:2377']);
  expect(agent.trouble).toBe('this manager does not lead the swarm, the leader is at m1:2377');
  await pass(100);
  expect(leader.dialled).toHaveLength(4);
});

test('a session is asked for with pauses from 100 ms, doubling to 8 s', async () => {
  leader.refusals.set('m1:2377', new EngineError('unavailable', 'nobody answers'));
  await startAgent();
  const pauses = [];
  for (let turn = 0; turn < 9; turn += 1) {
    await settled();
    const [next = 0] = clock.pendingMs;
    pauses.push(next);
    await pass(next);
  }
  expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 8000, 8000]);
});

test('a manager that failed is asked less often than one that answered, and a new one in between', () => {
  let share = 0;
  const random = { bytes: () => Uint8Array.of(share, 0, 0) };
  const weights = new ManagerWeights(random);
  const known = ['bad', 'good', 'new'].map((addr) => ({ node: addr, addr }));
  weights.answered('good');
  weights.failed('bad');
  const times = new Map<string, number>();
  for (share = 0; share < 256; share += 1) {
    const addr = weights.pick(known) ?? '';
    times.set(addr, (times.get(addr) ?? 0) + 1);
  }
  expect(Object.fromEntries(times)).toEqual({ bad: 7, good: 222, new: 27 });
  expect(weights.pick([])).toBe(undefined);
});

test('94: heartbeats follow the period that the leader names, also when it changes', async () => {
  leader.heartbeatMs = 1000;
  leader.heartbeatAnswer = { heartbeatMs: 3000 };
  await withSession();
  await pass(800);
  expect(leader.bodies('session.heartbeat')).toHaveLength(1);
  await pass(2399);
  expect(leader.bodies('session.heartbeat')).toHaveLength(1);
  await pass(1);
  expect(leader.bodies('session.heartbeat')).toEqual([{ session: 'session1' }, { session: 'session1' }]);
});

test('a heartbeat that is not taken ends the session, and another one is made', async () => {
  await withSession();
  leader.failing = (method) =>
    method === 'session.heartbeat' ? new EngineError('unavailable', 'session invalid') : undefined;
  await pass(5000);
  leader.failing = undefined;
  await pass(100);
  expect(leader.sessions.map(({ isOpen }) => isOpen)).toEqual([false, true]);
});

test('a changed certificate is shown in another session at once', async () => {
  const agent = await withSession();
  agent.reconnect();
  await settled();
  expect(leader.sessions.map(({ isOpen }) => isOpen)).toEqual([false, true]);
});

test('the description is told anew when it has changed, every 20 s at most', async () => {
  await withSession();
  await pass(20_000);
  expect(leader.bodies('session.describe')).toEqual([]);
  executor.description = { Hostname: 'renamed' };
  await pass(20_000);
  await pass(20_000);
  expect(leader.bodies('session.describe')).toEqual([
    { session: 'session1', description: { Hostname: 'renamed', TLSInfo: { TrustRoot: 'pem' } } },
  ]);
});

test('a task is run, told of, and taken away when it is not named any more', async () => {
  await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'running | started');
  expect(executor.log.slice(0, 3)).toEqual([`prepare ${ONE}`, `start ${ONE}`, `wait ${ONE}`]);
  expect(leader.statuses.get(ONE)?.container).toEqual({ id: `container-of-${ONE}`, pid: 42 });
  leader.session.assign([]);
  await waitFor(() => expect(executor.containers.size).toBe(0));
  await waitFor(() => expect(readdirSync(join(directory, 'tasks'))).toEqual([]));
  expect(executor.log.slice(3)).toEqual([`stop ${ONE}`, `remove ${ONE}`]);
});

test('a task that is desired ready is prepared and waits, and starts when it is let through', async () => {
  await withSession();
  leader.session.assign([assignedTask(ONE, { desired: TaskState.ready })]);
  await until(ONE, 'ready | prepared');
  expect(executor.containers.get(ONE)?.state).toBe('created');
  leader.session.assign([assignedTask(ONE)], { full: false });
  await until(ONE, 'running | started');
});

test.each([
  [0, 'complete | finished'],
  [3, 'failed | started | task: non-zero exit (3)'],
])('a task that ends with %d is %s', async (exitCode, expected) => {
  await withSession();
  leader.session.assign([assignedTask(ONE, { desired: TaskState.complete })]);
  await until(ONE, 'running | started');
  executor.exit(ONE, exitCode);
  await until(ONE, expected);
  expect(leader.statuses.get(ONE)?.container?.exitCode).toBe(exitCode);
});

test('33: an image that is missing rejects the task with the reason, and is not tried again here', async () => {
  executor.before = (step) => {
    if (step === 'prepare') {
      throw notFound('No such image: nope:latest');
    }
  };
  await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'rejected | preparing | No such image: nope:latest');
  await pass(60_000);
  expect(executor.log).toEqual([`prepare ${ONE}`]);
});

test('a step that may pass is tried again with pauses, and its reason is told meanwhile', async () => {
  let failures = 3;
  executor.before = (step) => {
    if (step === 'start' && (failures -= 1) >= 0) {
      throw new EngineError('unavailable', 'the volume plugin does not answer');
    }
  };
  await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await waitFor(async () => {
    await pass(20);
    expect(leader.seen(ONE)).toBe('starting | starting | the volume plugin does not answer');
  });
  await until(ONE, 'running | started');
  expect(executor.log.filter((line) => line.startsWith('start'))).toHaveLength(4);
});

test('a task that is to end while its image is pulled is not waited for', async () => {
  executor.before = (step, _task, signal) =>
    step === 'prepare'
      ? new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve());
        })
      : undefined;
  await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'preparing | preparing');
  leader.session.assign([assignedTask(ONE, { desired: TaskState.shutdown })], { full: false });
  await until(ONE, 'shutdown | shutdown');
});

test('what is desired of a task never goes back', async () => {
  await withSession();
  leader.session.assign([assignedTask(ONE, { desired: TaskState.shutdown })]);
  await until(ONE, 'shutdown | shutdown');
  leader.session.assign([assignedTask(ONE)]);
  expect(await seen(ONE)).toBe('shutdown | shutdown');
  expect(executor.containers.size).toBe(0);
});

test('a container that cannot be stopped is tried again, and its task goes on running until then', async () => {
  let failures = 2;
  executor.before = (step) => {
    if (step === 'stop' && (failures -= 1) >= 0) {
      throw new EngineError('internal', 'tried to kill container, but did not receive an exit event');
    }
  };
  await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'running | started');
  leader.session.assign([assignedTask(ONE, { desired: TaskState.shutdown })], { full: false });
  await until(ONE, 'shutdown | shutdown');
  expect(executor.log.filter((line) => line.startsWith('stop'))).toHaveLength(3);
});

test('100: a task waits for its secrets; they are in memory alone and go when they are withdrawn', async () => {
  const spec = {
    ContainerSpec: {
      Image: 'busybox',
      Env: ['SLOT={{.Task.Slot}}'],
      Secrets: [{ SecretID: 's1', SecretName: 'pw', File: { Name: 'pw', UID: '0', GID: '0', Mode: 0o400 } }],
    },
  };
  await withSession();
  leader.session.assign([assignedTask(ONE, { spec, registryAuth: 'Y3JlZHM=' })]);
  await until(ONE, 'preparing | preparing');
  const data = Buffer.from('geheim {{.Service.Name}}').toString('base64');
  const secret = { id: 's1', name: 'pw', data, isTemplate: true };
  leader.session.assign([], { full: false, secrets: [secret] });
  await until(ONE, 'running | started');
  expect(executor.prepared[0]).toMatchObject({
    name: `web.1.${ONE}`,
    node: 'node1',
    registryAuth: 'Y3JlZHM=',
    spec: { ContainerSpec: { Env: ['SLOT=1'] } },
  });
  expect(executor.prepared[0]?.secrets.get('s1')?.toString()).toBe('geheim web');
  const written = await waitFor(() => readFileSync(join(directory, 'tasks', `${ONE}.json`), 'utf8'));
  expect(written).not.toMatch(/geheim|Y3JlZHM/);
  expect(written).not.toContain(data);
  // Withdrawn: a task that comes later does not get it.
  leader.session.assign([assignedTask(TWO, { spec })], { full: false, removedSecrets: ['s1'] });
  await until(TWO, 'preparing | preparing');
});

test('a template that cannot be expanded rejects its task', async () => {
  await withSession();
  leader.session.assign([
    assignedTask(ONE, { spec: { ContainerSpec: { Image: 'x', Env: ['A={{.Nope}}'] } } }),
  ]);
  await waitFor(async () => expect(await seen(ONE)).toContain('rejected | preparing | expanding env failed'));
});

test('101: a daemon that comes back reports the truth and starts nothing twice', async () => {
  const first = await withSession();
  leader.session.assign([assignedTask(ONE), assignedTask(TWO)]);
  await until(TWO, 'running | started');
  await killAgent(first);
  executor.exit(TWO, 5);
  leader.statuses.clear();
  await withSession();
  leader.session.assign([assignedTask(ONE), assignedTask(TWO)]);
  await until(ONE, 'running | started');
  await until(TWO, 'failed | started | task: non-zero exit (5)');
  expect(executor.containers.get(ONE)?.starts).toBe(1);
  expect(executor.containers.get(TWO)?.starts).toBe(1);
});

test('101: a task that this node has forgotten is what the managers know of it', async () => {
  const known = { id: ONE, state: TaskState.running, at: 1, message: 'started' } as const;
  await withSession();
  leader.session.assign([assignedTask(ONE, { known })]);
  await waitFor(async () => expect(await seen(ONE)).toContain('failed | started | No such container'));
  expect(executor.log).toEqual([`wait ${ONE}`]);
});

test('a task that has ended for the managers does not run on', async () => {
  await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'running | started');
  await killAgent(agents[0] ?? expect.fail());
  rmSync(directory, { recursive: true });
  const known = { id: ONE, state: TaskState.orphaned, at: 1, message: 'orphaned' } as const;
  await withSession();
  leader.session.assign([assignedTask(ONE, { known })]);
  await waitFor(() => expect(executor.containers.get(ONE)?.state).toBe('exited'));
});

test('102: tasks go on without managers, also over a restart, and their ends are told later', async () => {
  const first = await withSession();
  leader.session.assign([assignedTask(ONE), assignedTask(TWO)]);
  await until(TWO, 'running | started');
  leader.refusals.set('m1:2377', new EngineError('unavailable', 'nobody answers'));
  leader.session.end();
  await killAgent(first);
  leader.statuses.clear();
  await startAgent();
  await settled();
  executor.exit(TWO, 7);
  await pass(60_000);
  expect(executor.containers.get(ONE)?.state).toBe('running');
  expect(leader.statuses.size).toBe(0);
  leader.refusals.clear();
  await pass(10_000);
  await until(ONE, 'running | started');
  await until(TWO, 'failed | started | task: non-zero exit (7)');
  expect(executor.log.filter((line) => line.startsWith('start'))).toHaveLength(2);
});

test('102: a task that needs a secret and does not run waits for the managers', async () => {
  const spec = {
    ContainerSpec: { Image: 'x', Secrets: [{ SecretID: 's1', SecretName: 'pw' }] },
  };
  const secret = { id: 's1', name: 'pw', data: '', isTemplate: false };
  const first = await withSession();
  leader.session.assign([assignedTask(ONE, { spec, desired: TaskState.ready })], { secrets: [secret] });
  await until(ONE, 'ready | prepared');
  await killAgent(first);
  await withSession();
  leader.session.assign([assignedTask(ONE, { spec })]);
  await until(ONE, 'starting | starting');
  leader.session.assign([], { full: false, secrets: [secret] });
  await until(ONE, 'running | started');
});

test('103: 10,000 statuses go in batches, the newest of each task, and again until they are taken', async () => {
  await withSession();
  const ids = Array.from({ length: 10_000 }, (_, at) => taskId(at));
  executor.before = () => {
    throw notFound('No such image: nope:latest');
  };
  leader.failing = (method) =>
    method === 'session.report' ? new EngineError('unavailable', 'too busy') : undefined;
  leader.session.assign(ids.map((id) => assignedTask(id)));
  await pass(500);
  leader.failing = undefined;
  await waitFor(async () => {
    await pass(1000);
    expect(leader.statuses.size).toBe(10_000);
    expect(leader.seen(ids[9999] ?? '')).toBe('rejected | preparing | No such image: nope:latest');
  });
  expect(Math.max(...leader.reports)).toBeLessThanOrEqual(2000);
  expect(leader.reports.length).toBeLessThan(30);
});

test('98: a status that is refused for good keeps no other back, and one of an orphaned task is not told', async () => {
  const [bad] = [taskId(3)];
  leader.refused = (statuses) =>
    statuses.some(({ id }) => id === bad)
      ? new EngineError('forbidden', 'cannot update a task not assigned this node')
      : undefined;
  await withSession();
  const known = { id: TWO, state: TaskState.orphaned, at: 1, message: 'orphaned' } as const;
  const others = [4, 5, 6, 7].map((number) => assignedTask(taskId(number)));
  leader.session.assign([assignedTask(ONE), assignedTask(TWO, { known }), assignedTask(bad), ...others]);
  await until(ONE, 'running | started');
  await until(taskId(7), 'running | started');
  expect([...leader.statuses.keys()].toSorted()).toEqual([ONE, ...others.map(({ id }) => id)]);
});

test('104: a node that leaves ends its tasks, removes their containers and forgets them', async () => {
  const agent = await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'running | started');
  await agent.leave();
  expect(leader.bodies('session.leave')).toEqual([{ session: 'session1' }]);
  expect(executor.containers.size).toBe(0);
  expect(() => readdirSync(directory)).toThrow('ENOENT');
});

test('104: leaving waits for no service to end in its own time', async () => {
  executor.before = (step) => (step === 'stop' ? new Promise(() => undefined) : undefined);
  const agent = await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'running | started');
  await agent.leave();
  expect(executor.log.slice(-2)).toEqual([`wait ${ONE}`, `remove ${ONE}`]);
});

test('what is left of tasks that nobody knows is removed once a manager has said everything', async () => {
  await executor.prepare(
    { ...assignedTask(TWO), name: '', node: '', secrets: new Map(), configs: new Map() },
    new AbortController().signal,
  );
  await withSession();
  expect(executor.containers.size).toBe(1);
  leader.session.assign([]);
  await waitFor(() => expect(executor.containers.size).toBe(0));
});

test('a file that is no task, or half written, does not keep the others from being looked after', async () => {
  const first = await withSession();
  leader.session.assign([assignedTask(ONE)]);
  await until(ONE, 'running | started');
  await killAgent(first);
  writeFileSync(join(directory, 'tasks', 'broken.json'), '{');
  writeFileSync(join(directory, 'tasks', `${TWO}.json.new`), '{"assigned"');
  writeFileSync(join(directory, 'tasks', 'other.json'), '{"assigned":{"id":"../x"},"status":{}}');
  leader.statuses.clear();
  await withSession();
  await until(ONE, 'running | started');
});

test('logs of tasks are sent to the leader until it has enough', async () => {
  await withSession();
  leader.session.tell({
    kind: 'logs',
    subscription: { id: 'sub1', tasks: [ONE, TWO], follow: true, stdout: true, stderr: true },
  });
  await settled();
  expect(leader.uploads).toEqual([
    [
      { session: 'session1', subscription: 'sub1' },
      { task: ONE, stream: 'stdout', at: '1', line: Buffer.from(`line of ${ONE}\n`).toString('base64') },
      { task: TWO, stream: 'stdout', at: '1', line: Buffer.from(`line of ${TWO}\n`).toString('base64') },
    ],
  ]);
  leader.session.tell({ kind: 'endLogs', id: 'sub1' });
  await settled();
});

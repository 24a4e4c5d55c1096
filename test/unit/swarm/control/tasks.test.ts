import { beforeEach, expect, test } from 'vitest';
import { put } from '../../../../swarm/objects/parts.ts';
import { nameKey } from '../../../../swarm/objects/values.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import type { TaskStatus } from '../../../../swarm/objects/task.ts';
import { controlRig, type ControlRig } from '../../../support/swarm/control-rig.ts';
import { nodeWrites, serviceWrites, taskRecord, taskStatus } from '../../../support/swarm/builders.ts';

let rig: ControlRig;
/** What only the leader knows. */
let inMemory: Map<string, TaskStatus>;

beforeEach(async () => {
  inMemory = new Map();
  rig = await controlRig({ statusOf: (task) => inMemory.get(task) });
  await rig.context.cluster.commit({
    conditions: [],
    parts: [
      ...nodeWrites('n1', {}, { Hostname: 'one' }),
      ...nodeWrites('n2', {}, { Hostname: 'two' }),
      ...serviceWrites('web', { Labels: { tier: 'front' } }),
      ...serviceWrites('all', { Mode: { Global: {} } }),
      put('task', taskRecord('t1', 'web', { slot: 1, node: 'n1', created: 1000, updated: 1000 })),
      put('status', runningStatus('t1')),
      put('task', taskRecord('t2', 'web', { slot: 2, node: 'n2' })),
      put(
        'task',
        taskRecord('t3', 'web', {
          slot: 3,
          refusal: { state: TaskState.pending, error: 'no suitable node (1 node not available)', at: 4000 },
        }),
      ),
      put('task', taskRecord('t4', 'web', { slot: 2, node: 'n1', desired: TaskState.shutdown })),
      put(
        'status',
        taskStatus('t4', TaskState.failed, 5000, { message: 'started', error: 'task: non-zero exit (1)' }),
      ),
      put('task', taskRecord('g1', 'all', { pinned: 'n1' })),
    ],
    values: ['web', 'all'].map((name) => ({
      kind: 'put',
      key: nameKey('service', name),
      value: Buffer.from(name),
    })),
  });
});

function runningStatus(id: string): TaskStatus {
  return taskStatus(id, TaskState.running, 2000, {
    message: 'started',
    container: { id: 'c1', pid: 7 },
    ports: [{ TargetPort: 80, PublishedPort: 8080, Protocol: 'tcp', PublishMode: 'host' }],
  });
}

test('inspect: what it runs, where, and what became of it', async () => {
  expect(await rig.control.tasks.inspect('t1')).toEqual({
    ID: 't1',
    Version: { Index: rig.context.cluster.revision },
    CreatedAt: '1970-01-01T00:00:01Z',
    UpdatedAt: '1970-01-01T00:00:02Z',
    Labels: {},
    Spec: { ContainerSpec: { Image: 'busybox', Isolation: 'default' }, ForceUpdate: 0 },
    ServiceID: 'web',
    Slot: 1,
    NodeID: 'n1',
    Status: {
      Timestamp: '1970-01-01T00:00:02Z',
      State: 'running',
      Message: 'started',
      ContainerStatus: { ContainerID: 'c1', PID: 7, ExitCode: 0 },
      PortStatus: {
        Ports: [{ TargetPort: 80, PublishedPort: 8080, Protocol: 'tcp', PublishMode: 'host' }],
      },
    },
    DesiredState: 'running',
    Volumes: null,
  });
});

test.each<[id: string, status: object]>([
  ['t2', { State: 'assigned', Message: 'scheduler assigned task to node' }],
  [
    't3',
    {
      State: 'pending',
      Message: 'pending task scheduling',
      Err: 'no suitable node (1 node not available)',
      Timestamp: '1970-01-01T00:00:04Z',
    },
  ],
  ['t4', { State: 'failed', Message: 'started', Err: 'task: non-zero exit (1)' }],
  ['g1', { State: 'pending', Message: 'pending task scheduling' }],
])('inspect: the status of %s', async (id, status) => {
  expect((await rig.control.tasks.inspect(id)).Status).toMatchObject(status);
});

test('inspect: what the leader was told and has not stored is shown, unless the store is further', async () => {
  inMemory.set('t2', taskStatus('t2', TaskState.preparing, 1, { message: 'preparing' }));
  inMemory.set('t1', taskStatus('t1', TaskState.starting, 1, { message: 'starting' }));
  expect((await rig.control.tasks.inspect('t2')).Status.State).toBe('preparing');
  expect((await rig.control.tasks.inspect('t1')).Status.State).toBe('running');
});

test.each<[filters: Record<string, string[]>, ids: string[]]>([
  [{}, ['g1', 't1', 't2', 't3', 't4']],
  [{ id: ['t'] }, ['t1', 't2', 't3', 't4']],
  [{ name: ['web.2.'] }, ['t2', 't4']],
  [{ name: ['all.n1.g'] }, ['g1']],
  [{ label: ['tier=front'] }, ['t1', 't2', 't3', 't4']],
  [{ service: ['web'] }, ['t1', 't2', 't3', 't4']],
  [{ service: ['web', 'all'] }, ['g1', 't1', 't2', 't3', 't4']],
  [{ node: ['one'] }, ['g1', 't1', 't4']],
  [{ node: ['n2'] }, ['t2']],
  [{ service: ['web'], node: ['n1'] }, ['t1', 't4']],
  [{ 'desired-state': ['running'] }, ['g1', 't1', 't2', 't3']],
  [{ 'desired-state': ['Shutdown'] }, ['t4']],
  [{ 'desired-state': ['running', 'shutdown'], node: ['n1'] }, ['g1', 't1', 't4']],
  [{ runtime: ['container'] }, ['g1', 't1', 't2', 't3', 't4']],
  [{ runtime: ['attachment'] }, []],
])('list: %j', async (filters, ids) => {
  const listed = await rig.control.tasks.list(new Map(Object.entries(filters)));
  expect(listed.map(({ ID }) => ID).toSorted()).toEqual(ids);
});

test.each<[filters: Record<string, string[]>, code: string, message: string]>([
  [{ x: ['y'] }, 'invalid_argument', "invalid filter 'x'"],
  [{ service: ['nothing'] }, 'not_found', 'service nothing not found'],
  [{ node: ['nothing'] }, 'not_found', 'node nothing not found'],
  [{ 'desired-state': ['x'] }, 'invalid_argument', "Invalid desired-state filter: 'x'"],
])('list: refuses %j', async (filters, code, message) => {
  await expect(rig.control.tasks.list(new Map(Object.entries(filters)))).rejects.toMatchObject({
    code,
    message,
  });
});

test('list: _up-to-date leaves out tasks that an update has to replace', async () => {
  const { cluster } = rig.context;
  const upToDate = async (): Promise<string[]> => {
    const listed = await rig.control.tasks.list(
      new Map([
        ['service', ['web']],
        ['_up-to-date', ['true']],
      ]),
    );
    return listed.map(({ ID }) => ID).toSorted();
  };
  expect(await upToDate()).toEqual(['t1', 't2', 't3', 't4']);
  const next = { template: 2, templatesIssued: 2 };
  await cluster.commit({
    conditions: [],
    parts: [
      ...serviceWrites('web', { TaskTemplate: { ContainerSpec: { Image: 'busybox:2' } } }, next),
      put('task', taskRecord('t5', 'web', { slot: 1, template: 2 })),
    ],
  });
  expect(await upToDate()).toEqual(['t5']);
});

test('look-up: by name, as the container of a task is called', async () => {
  expect((await rig.control.tasks.inspect('web.1.t1')).ID).toBe('t1');
  await expect(rig.control.tasks.inspect('web.2.t1')).rejects.toThrow('task web.2.t1 not found');
});

test('services: how many tasks run, should and have run', async () => {
  const [web, all] = await rig.control.services.list(new Map(), { status: true });
  expect([web?.ServiceStatus, all?.ServiceStatus]).toEqual([
    { RunningTasks: 1, DesiredTasks: 3, CompletedTasks: 0 },
    { RunningTasks: 0, DesiredTasks: 1, CompletedTasks: 0 },
  ]);
});

test.each<[filters: Record<string, string[]>, names: string[]]>([
  [{}, ['all', 'web']],
  [{ name: ['w'] }, ['web']],
  [{ id: ['a'] }, ['all']],
  [{ label: ['tier'] }, ['web']],
  [{ mode: ['global'] }, ['all']],
  [{ mode: ['global', 'replicated'] }, ['all', 'web']],
  [{ mode: ['replicated-job'] }, []],
  [{ runtime: ['container'] }, ['all', 'web']],
  [{ runtime: ['plugin'] }, []],
])('list of services: %j', async (filters, names) => {
  const listed = await rig.control.services.list(new Map(Object.entries(filters)), { status: false });
  expect(listed.map(({ Spec }) => Spec.Name ?? '').toSorted()).toEqual(names);
});

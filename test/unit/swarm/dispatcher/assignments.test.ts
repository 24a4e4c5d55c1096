import { describe, expect, test } from 'vitest';
import type { ServiceSpec } from '../../../../api/types/swarm/service.ts';
import { put, remove, type Write } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { sealedKey } from '../../../../swarm/objects/values.ts';
import {
  clusterWrite,
  networkWrite,
  nodeWrites,
  serviceWrites,
  taskRecord,
  taskStatus,
} from '../../../support/swarm/builders.ts';
import {
  DispatchedNode,
  leadingDispatcher,
  opened,
  type Dispatching,
} from '../../../support/swarm/dispatched-node.ts';

/** A service whose tasks the test itself assigns. */
const idle = (id: string, spec: ServiceSpec = {}): Write[] =>
  serviceWrites(id, { Mode: { Replicated: { Replicas: 0 } }, ...spec });

const task = (id: string, node: string, desired: TaskState = TaskState.running): Write =>
  put('task', taskRecord(id, 's', { node, slot: Number.parseInt(id.slice(1), 36) || 1, desired }));

const withData = (spec: ServiceSpec = {}): Write[] =>
  serviceWrites('s', {
    ...spec,
    Mode: { Replicated: { Replicas: 1 } },
    TaskTemplate: {
      Placement: { Constraints: ['node.id==n1'] },
      ContainerSpec: {
        Image: 'busybox',
        Secrets: [{ SecretID: 'sec1', SecretName: 'one' }],
        Configs: [{ ConfigID: 'con1', ConfigName: 'two' }],
      },
    },
  });

const OWNED = { created: 0, updated: 0 };

async function withSecrets(...writes: Write[][]): Promise<Dispatching> {
  const made = await leadingDispatcher(
    [
      put('secret', { id: 'sec1', ...OWNED, spec: { Name: 'one', Labels: {} } }),
      put('config', {
        id: 'con1',
        ...OWNED,
        spec: { Name: 'two', Labels: {}, Templating: { Name: 'golang' } },
      }),
    ],
    ...writes,
  );
  await made.manager.cluster.commit({
    conditions: [],
    values: [
      { kind: 'put', key: sealedKey.secret('sec1'), value: Buffer.from('sealed geheim') },
      { kind: 'put', key: sealedKey.config('con1'), value: Buffer.from('sealed {{ .Node.ID }}') },
      { kind: 'put', key: sealedKey.registryAuth('s'), value: Buffer.from('sealed token') },
    ],
  });
  return made;
}

describe('assignments', () => {
  test('a task comes with all that running it needs', async () => {
    const made = await withSecrets(
      nodeWrites('n1'),
      [clusterWrite({ TaskDefaults: { LogDriver: { Name: 'local' } } }), networkWrite('ingress')],
      withData({
        Labels: { a: 'b' },
        EndpointSpec: {
          Ports: [
            { TargetPort: 80, PublishedPort: 8080, PublishMode: 'host' },
            { TargetPort: 81, PublishedPort: 8081 },
          ],
        },
      }),
    );
    await opened(made, 'n1');
    const [node] = await opened(made, 'n1');
    const [stored] = made.manager.tasks('s');
    expect(node?.assignments).toEqual([
      {
        full: true,
        tasks: [
          {
            id: stored?.id,
            desired: TaskState.running,
            service: { id: 's', name: 's', labels: { a: 'b' } },
            slot: 1,
            spec:
              withData()[1]?.part === 'template'
                ? expect.objectContaining({ ContainerSpec: expect.anything() })
                : 0,
            hostPorts: [{ TargetPort: 80, PublishedPort: 8080, PublishMode: 'host' }],
            generic: [],
            // The node itself and the service have one each, too.
            networks: stored?.record.networks,
            registryAuth: 'token',
            logDriver: { Name: 'local' },
          },
        ],
        removedTasks: [],
        secrets: [
          { id: 'sec1', name: 'one', data: Buffer.from('geheim').toString('base64'), isTemplate: false },
        ],
        removedSecrets: [],
        configs: [
          {
            id: 'con1',
            name: 'two',
            data: Buffer.from('{{ .Node.ID }}').toString('base64'),
            isTemplate: true,
          },
        ],
        removedConfigs: [],
      },
    ]);
  });

  test('97: a full set first, then what is different', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'), idle('s'), [
      task('t1', 'n1', TaskState.shutdown),
    ]);
    const node = await DispatchedNode.open(dispatcher, 'n1');
    await manager.write(task('t2', 'n1', TaskState.shutdown), task('t3', 'other', TaskState.shutdown));
    await manager.rig.clock.advance(100);
    await manager.write(task('t2', 'n1', TaskState.remove), remove('task', 't1'));
    await manager.rig.clock.advance(100);
    expect(
      node.assignments.map(({ full, tasks, removedTasks }) => [
        full,
        tasks.map(({ id, desired }) => `${id} ${desired}`),
        removedTasks,
      ]),
    ).toEqual([
      [true, ['t1 640'], []],
      [false, ['t2 640'], []],
      [false, ['t2 800'], ['t1']],
    ]);
  });

  test('97: a gap forces a full set: another session begins with one', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'), idle('s'));
    const first = await DispatchedNode.open(dispatcher, 'n1');
    await first.cut();
    await manager.write(task('t1', 'n1', TaskState.shutdown));
    await manager.rig.clock.advance(100);
    const second = await DispatchedNode.open(dispatcher, 'n1');
    expect([first.tasks, second.tasks, second.assignments[0]?.full]).toEqual([[], ['t1'], true]);
  });

  test('what is known of a task goes along, so that a node that has forgotten it does not run it again', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'), idle('s'), [
      task('t1', 'n1', TaskState.shutdown),
      put('status', taskStatus('t1', TaskState.running)),
    ]);
    const node = await DispatchedNode.open(dispatcher, 'n1');
    expect(node.assignments[0]?.tasks[0]?.known?.state).toBe(TaskState.running);
    manager.leading.report({ id: 't1', state: TaskState.failed, message: '' });
    const again = await DispatchedNode.open(dispatcher, 'n1');
    expect(again.assignments[0]?.tasks[0]?.known?.state).toBe(TaskState.failed);
  });

  test('changes are told together: the first ones soon, then every 100 ms, or by the hundred', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'), idle('s'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    const ids = Array.from({ length: 250 }, (_, index) => `t${index.toString(36)}`);
    await manager.write(task('t1', 'n1', TaskState.shutdown));
    await manager.rig.clock.advance(5);
    expect(node.tasks).toHaveLength(1);
    await manager.write(task('t2', 'n1', TaskState.shutdown));
    await manager.rig.clock.advance(90);
    expect(node.tasks).toHaveLength(1);
    await manager.rig.clock.advance(10);
    expect(node.tasks).toHaveLength(2);
    await manager.write(...ids.map((id) => task(id, 'n1', TaskState.shutdown)));
    expect(node.tasks.length).toBeGreaterThan(100);
  });

  test('statuses that the node has told itself are not told back', async () => {
    const made = await leadingDispatcher(nodeWrites('n1'), serviceWrites('s'));
    const { manager } = made;
    const [node] = (await opened(made, 'n1')) as [DispatchedNode]; // One, as asked for.
    const messages = node.told.length;
    await node.report(...manager.tasks('s').map(({ id }) => ({ id, state: TaskState.running })));
    await manager.rig.clock.advance(1_000);
    expect(manager.tasks('s').every(({ status }) => status?.state === TaskState.running)).toBe(true);
    expect(node.told.length).toBe(messages);
  });

  test('100: a secret goes to nodes with a task that needs it alone, and is withdrawn with the last one', async () => {
    const made = await withSecrets(nodeWrites('n1'), nodeWrites('n2'), withData());
    const [n1, n2] = (await opened(made, 'n1', 'n2')) as [DispatchedNode, DispatchedNode]; // Two, as asked for.
    expect(n1.assignments.flatMap(({ secrets }) => secrets.map(({ id }) => id))).toEqual(['sec1']);
    expect(JSON.stringify(n2.told)).not.toContain('sec1');
    const [stored] = made.manager.tasks('s');
    await made.manager.write(remove('service', 's'));
    await made.manager.rig.clock.advance(200);
    expect(n1.assignments.at(-1)).toMatchObject({
      tasks: [{ id: stored?.id, desired: TaskState.remove }],
      removedSecrets: ['sec1'],
      removedConfigs: ['con1'],
    });
  });

  test('100: a secret goes when its only task has ended, though that is still wanted', async () => {
    const made = await withSecrets(
      nodeWrites('n1'),
      withData().map((write) => {
        if (write.part === 'service' && write.value !== null) {
          const spec = { ...write.value.spec };
          spec.TaskTemplate = { ...spec.TaskTemplate, RestartPolicy: { Condition: 'none' } };
          return put('service', { ...write.value, spec });
        }
        return write;
      }),
    );
    const [node] = (await opened(made, 'n1')) as [DispatchedNode]; // One, as asked for.
    const [stored] = made.manager.tasks('s');
    await node.report({ id: stored?.id ?? '', state: TaskState.complete });
    await made.manager.rig.clock.advance(200);
    expect(node.assignments.flatMap(({ removedSecrets }) => removedSecrets)).toEqual(['sec1']);
  });

  test('a secret that the successor needs stays', async () => {
    const made = await withSecrets(nodeWrites('n1'), withData());
    const [node] = (await opened(made, 'n1')) as [DispatchedNode]; // One, as asked for.
    const [stored] = made.manager.tasks('s');
    await node.report({ id: stored?.id ?? '', state: TaskState.failed });
    await made.manager.rig.clock.advance(1_000);
    expect(made.manager.tasks('s')).toHaveLength(2);
    expect(node.assignments.flatMap(({ removedSecrets }) => removedSecrets)).toEqual([]);
  });

  test('a set that is too large for a message comes in parts', async () => {
    const image = `busybox:${'x'.repeat(1000)}`;
    const many = Array.from({ length: 3_000 }, (_, index) =>
      task(`t${index.toString(36)}`, 'n1', TaskState.shutdown),
    );
    const { dispatcher } = await leadingDispatcher(
      nodeWrites('n1'),
      idle('s', { TaskTemplate: { ContainerSpec: { Image: image } } }),
      [clusterWrite({ Orchestration: { TaskHistoryRetentionLimit: -1 } })],
      many,
    );
    const node = await DispatchedNode.open(dispatcher, 'n1');
    expect(node.assignments.map(({ full, more }) => [full, more])).toEqual([
      [true, true],
      [true, true],
      [true, true],
      [true, undefined],
    ]);
    expect(new Set(node.tasks).size).toBe(3_000);
    expect(Math.max(...node.told.map((message) => JSON.stringify(message).length))).toBeLessThan(
      1.1 * 2 ** 20,
    );
  });

  test('a sealed value that does not open leaves the others alone', async () => {
    const made = await withSecrets(nodeWrites('n1'), withData());
    await made.manager.cluster.commit({
      conditions: [],
      values: [{ kind: 'delete', key: sealedKey.secret('sec1') }],
    });
    const [node] = (await opened(made, 'n1')) as [DispatchedNode]; // One, as asked for.
    expect(node.assignments.at(-1)).toMatchObject({
      secrets: [],
      configs: [{ id: 'con1' }],
      tasks: [{ slot: 1 }],
    });
  });
});

import { describe, expect, test } from 'vitest';
import type { PortConfig } from '../../../../api/types/swarm/service.ts';
import { keyOf } from '../../../../swarm/objects/keys.ts';
import { put, remove, type Write } from '../../../../swarm/objects/parts.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import {
  networkWrite,
  nodeState,
  nodeWrites,
  serviceWrites,
  taskStatus,
} from '../../../support/swarm/builders.ts';
import { SwarmRig, type ManagerRig } from '../../../support/swarm/manager-rig.ts';

async function leadingManager(replicas = 2): Promise<ManagerRig> {
  const manager = await new SwarmRig().manager();
  await manager.begin(nodeWrites('n1'), serviceWrites('s', { Mode: { Replicated: { Replicas: replicas } } }));
  await manager.lead();
  await manager.rig.clock.advance(50);
  return manager;
}

const said = (id: string, state: TaskState, error?: string) => ({
  id,
  state,
  message: 'said',
  ...(error === undefined ? {} : { error }),
});

const publishing = (id: string, Ports: PortConfig[], template: number): Write[] =>
  serviceWrites(
    id,
    { EndpointSpec: { Ports }, Mode: { Replicated: { Replicas: 1 } } },
    { template, templatesIssued: template },
  );

describe('leader', () => {
  test('makes and places the tasks of a service in one write each', async () => {
    const manager = await leadingManager();
    expect(manager.tasks('s').map(({ record }) => [record.slot, record.node, record.desired])).toEqual([
      [1, 'n1', TaskState.running],
      [2, 'n1', TaskState.running],
    ]);
    expect(manager.tasks('s').map(({ id }) => manager.writesOf('task', id))).toEqual([1, 1]);
  });

  test('states on the way stay in memory, running is stored', async () => {
    const manager = await leadingManager(1);
    const { clock } = manager.rig;
    const [task] = manager.tasks('s');
    const id = task?.id ?? '';
    for (const state of [TaskState.accepted, TaskState.preparing, TaskState.ready, TaskState.starting]) {
      expect(manager.leading.report(said(id, state))).toBe(true);
      await clock.advance(1_000);
      expect([manager.leading.statusOf(id)?.state, manager.writesOf('status', id)]).toEqual([state, 0]);
    }
    manager.leading.report(said(id, TaskState.running));
    await clock.advance(50);
    const now = Number(clock.nowNano() / 1_000_000n);
    expect([manager.leading.statusOf(id), manager.writesOf('status', id)]).toEqual([undefined, 1]);
    expect(manager.cluster.part('status', id)).toEqual({
      ...said(id, TaskState.running),
      at: now - 50,
      running: now - 50,
    });
  });

  test('a state on the way that lasts 5 s, or tells of trouble, is stored', async () => {
    const manager = await leadingManager();
    const { clock } = manager.rig;
    const [one = '', two = ''] = manager.tasks('s').map(({ id }) => id);
    manager.leading.report(said(one, TaskState.preparing));
    manager.leading.report(said(two, TaskState.preparing, 'no such image'));
    await clock.advance(4_900);
    expect([manager.writesOf('status', one), manager.writesOf('status', two)]).toEqual([0, 1]);
    await clock.advance(200);
    expect([manager.writesOf('status', one), manager.writesOf('status', two)]).toEqual([1, 1]);
  });

  test('99: a status never goes back', async () => {
    const manager = await leadingManager(1);
    const [task] = manager.tasks('s');
    const id = task?.id ?? '';
    expect(manager.leading.report(said(id, TaskState.running))).toBe(true);
    expect(manager.leading.report(said(id, TaskState.preparing))).toBe(false);
    expect(manager.leading.report(said(id, TaskState.running))).toBe(false);
    expect(manager.leading.report(said('unknown', TaskState.running))).toBe(false);
  });

  test('a task that ends as it is to be removed is deleted, its last status never written', async () => {
    const manager = await leadingManager(1);
    const { clock } = manager.rig;
    const [task] = manager.tasks('s');
    const id = task?.id ?? '';
    manager.leading.report(said(id, TaskState.running));
    await clock.advance(50);
    await manager.write(remove('service', 's'));
    await clock.advance(50);
    expect(manager.tasks('s')[0]?.record.desired).toBe(TaskState.remove);
    manager.leading.report(said(id, TaskState.shutdown));
    await clock.advance(50);
    expect(manager.cluster.state.tasks.size).toBe(0);
    expect(manager.cluster.state.looseStatuses.size).toBe(0);
    // Created, desired remove, deleted; running, deleted.
    expect([manager.writesOf('task', id), manager.writesOf('status', id)]).toEqual([3, 2]);
    expect(manager.leading.statusOf(id)).toBeUndefined();
  });

  test('what is refused is decided anew, with the last report, stored or not', async () => {
    const manager = await leadingManager(1);
    const { clock } = manager.rig;
    const [task] = manager.tasks('s');
    const id = task?.id ?? '';
    manager.faults.add('commit', { kind: 'unavailable' });
    manager.leading.report(said(id, TaskState.running));
    await clock.advance(60);
    expect(manager.cluster.part('status', id)).toBeUndefined();
    expect(manager.leading.state.tasks.get(id)?.status?.state).toBe(TaskState.running);
    await clock.advance(200);
    expect(manager.cluster.part('status', id)?.state).toBe(TaskState.running);
  });

  test('a commit that comes to stand late takes nothing that was given to others meanwhile', async () => {
    const manager = await leadingManager(0);
    const { clock } = manager.rig;
    const other = await manager.rig.manager('m2');
    // One address is left in it.
    await other.write(networkWrite('a', ['10.1.0.0/30']));
    manager.faults.add('commit', { kind: 'late', ms: 5_000 });
    await other.write(
      ...serviceWrites('t', {
        Mode: { Replicated: { Replicas: 1 } },
        TaskTemplate: { ContainerSpec: { Image: 'busybox' }, Networks: [{ Target: 'a' }] },
        EndpointSpec: { Mode: 'dnsrr' },
      }),
    );
    for (let second = 0; second < 10; second += 1) {
      await clock.advance(1_000);
      expect(manager.tasks('t').map(({ record }) => record.networks?.[0]?.addresses)).toEqual([['10.1.0.2']]);
    }
  });

  test('what was stored and is not read here for long is not given to others', async () => {
    const manager = await leadingManager(0);
    const { clock } = manager.rig;
    const other = await manager.rig.manager('m2');
    // One address is left in it.
    await other.write(networkWrite('a', ['10.1.0.0/30']));
    await other.write(
      ...serviceWrites('t', {
        Mode: { Replicated: { Replicas: 1 } },
        TaskTemplate: { ContainerSpec: { Image: 'busybox' }, Networks: [{ Target: 'a' }] },
        EndpointSpec: { Mode: 'dnsrr' },
      }),
    );
    manager.faults.add('watch', { kind: 'delay', ms: 12_000 });
    for (let second = 0; second < 15; second += 1) {
      await clock.advance(1_000);
      // Of what is stored, whoever has read it.
      const tasks = [...other.cluster.state.tasksOf('t')];
      expect(tasks.map(({ record }) => record.networks?.[0]?.addresses)).toEqual([['10.1.0.2']]);
    }
    expect(manager.tasks('t')).toHaveLength(1);
  });

  test.each(['conflict', 'unavailable', 'lost answer'] as const)(
    'survives a store that answers: %s',
    async (kind) => {
      const manager = await leadingManager(0);
      const { clock } = manager.rig;
      manager.faults.add('commit', { kind });
      const other = await manager.rig.manager('m2');
      await other.write(...serviceWrites('t', { Mode: { Replicated: { Replicas: 300 } } }));
      await clock.advance(3_000);
      expect(manager.tasks('t').map(({ record }) => record.slot)).toEqual(
        Array.from({ length: 300 }, (_, index) => index + 1),
      );
    },
  );

  test('a user who changes a service meanwhile is not written over', async () => {
    const manager = await leadingManager(1);
    const { clock } = manager.rig;
    await manager.write(
      nodeState('n1', 'ready', 1),
      ...serviceWrites('s', { Mode: { Replicated: { Replicas: 5 } } }),
    );
    await clock.advance(50);
    expect(manager.tasks('s')).toHaveLength(5);
  });

  test('an end that another writer stored is not undone by what was reported before', async () => {
    const manager = await leadingManager(1);
    const { clock } = manager.rig;
    const id = manager.tasks('s')[0]?.id ?? '';
    manager.leading.report(said(id, TaskState.running));
    await manager.write(put('status', taskStatus(id, TaskState.orphaned)));
    await clock.advance(100);
    expect(manager.cluster.part('status', id)?.state).toBe(TaskState.orphaned);
    expect(manager.leading.statusOf(id)).toBeUndefined();
  });

  test('batches hold what a transaction takes', async () => {
    const manager = await leadingManager(1_000);
    const sizes = manager.rig.transactions.map(
      ({ keys }) => keys.filter((key) => key.startsWith('task/')).length,
    );
    expect(Math.max(...sizes)).toBe(127);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(1_000);
  });

  test('88: what a service gives up is stored before another one has it', async () => {
    const port = [{ TargetPort: 80, PublishedPort: 8080 }];
    const manager = await new SwarmRig().manager();
    await manager.begin([networkWrite('ingress')], nodeWrites('n1'), publishing('a', port, 1));
    await manager.lead();
    await manager.rig.clock.advance(50);
    await manager.write(...publishing('b', port, 1));
    await manager.rig.clock.advance(50);
    const portsOf = (): unknown[] =>
      ['a', 'b'].map((id) => manager.cluster.part('serviceRun', id)?.ports?.[0]?.PublishedPort);
    expect(portsOf()).toEqual([8080, undefined]);
    const { length } = manager.rig.transactions;
    // The update of `a` begins in the same pass, after `b` has got what `a` gives up.
    await manager.write(...publishing('a', [], 2), ...publishing('b', port, 2));
    await manager.rig.clock.advance(50);
    expect(portsOf()).toEqual([undefined, 8080]);
    const stored = manager.rig.transactions
      .slice(length)
      .map(({ keys }) => keys.filter((key) => key === keyOf('serviceRun', 'a')).length);
    // The user's, the port, the update: no refusal, and nothing decided anew.
    expect(stored).toEqual([0, 1, 1]);
  });

  test('103: 10,000 statuses are stored in batches', async () => {
    const manager = await leadingManager(10_000);
    const { clock } = manager.rig;
    const before = manager.rig.transactions.length;
    manager.tasks('s').forEach(({ id }) => manager.leading.report(said(id, TaskState.running)));
    await clock.advance(100);
    expect(manager.rig.transactions.length - before).toBe(Math.ceil(10_000 / 127));
    expect(manager.tasks('s').every(({ status }) => status?.state === TaskState.running)).toBe(true);
  });

  test('a mark of a node is known here and stored nowhere', async () => {
    const manager = await leadingManager(1);
    const mark = { state: 'unknown' as const, message: 'a new leader' };
    manager.leading.markNode('n1', mark);
    expect(manager.leading.state.nodes.get('n1')?.state?.state).toBe('unknown');
    await manager.write(
      put('nodeState', { id: 'n1', role: 'manager', state: 'ready', message: '', addr: '', since: 0 }),
    );
    expect(manager.leading.state.nodes.get('n1')?.state).toMatchObject({ ...mark, role: 'manager' });
    manager.leading.markNode('n1', undefined);
    expect(manager.leading.state.nodes.get('n1')?.state?.state).toBe('ready');
  });
});

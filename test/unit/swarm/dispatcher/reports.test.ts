import { describe, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { TaskState } from '../../../../swarm/objects/task-state.ts';
import { nodeWrites, serviceWrites } from '../../../support/swarm/builders.ts';
import {
  leadingDispatcher,
  opened,
  type DispatchedNode,
  type Dispatching,
} from '../../../support/swarm/dispatched-node.ts';

const one = (node: string): ReturnType<typeof serviceWrites> =>
  serviceWrites('s', {
    Mode: { Replicated: { Replicas: 1 } },
    TaskTemplate: { Placement: { Constraints: [`node.id==${node}`] } },
  });

async function oneTask(): Promise<Dispatching & { node: DispatchedNode; other: DispatchedNode; id: string }> {
  const made = await leadingDispatcher(nodeWrites('n1'), nodeWrites('n2'));
  // Two, as asked for.
  const [node, other] = (await opened(made, 'n1', 'n2')) as [DispatchedNode, DispatchedNode];
  await made.manager.write(...one('n1'));
  await made.manager.rig.clock.advance(250);
  return { ...made, node, other, id: made.manager.tasks('s')[0]?.id ?? '' };
}

const keep = async (nodes: DispatchedNode[], made: Dispatching, forMs: number): Promise<void> => {
  for (let ms = 0; ms < forMs; ms += 10_000) {
    await made.manager.rig.clock.advance(10_000);
    await Promise.all(nodes.map((node) => node.heartbeat()));
  }
};

describe('reports', () => {
  test('98: the status of another node’s task is refused, with all that came with it', async () => {
    const { other, manager, id } = await oneTask();
    await expect(other.report({ id, state: TaskState.running })).rejects.toMatchObject({
      code: 'forbidden',
      message: 'cannot update a task not assigned this node',
    });
    await manager.rig.clock.advance(100);
    expect(manager.tasks('s')[0]?.status).toBeUndefined();
  });

  test('of a session that is not its own nothing is taken', async () => {
    const { node, other, id } = await oneTask();
    const stolen = other.call('session.report', {
      session: node.session,
      statuses: [{ id, state: TaskState.running, message: '' }],
    });
    await expect(stolen).rejects.toThrow('session invalid');
  });

  test('99: a status that comes late changes nothing', async () => {
    const { node, manager, id } = await oneTask();
    await node.report({ id, state: TaskState.running }, { id, state: TaskState.starting });
    await manager.rig.clock.advance(100);
    await node.report({ id, state: TaskState.preparing });
    await manager.rig.clock.advance(100);
    expect(manager.tasks('s')[0]?.status?.state).toBe(TaskState.running);
  });

  test('a task that is not known any more is passed over', async () => {
    const { node } = await oneTask();
    await expect(node.report({ id: 'gone', state: TaskState.running })).resolves.toEqual({});
  });

  test.each([
    ['no list', { statuses: 'x' }],
    ['no state', { statuses: [{ id: 'x', message: '' }] }],
    ['a state between states', { statuses: [{ id: 'x', message: '', state: 300 }] }],
    ['a state that managers alone set', { statuses: [{ id: 'x', message: '', state: TaskState.orphaned }] }],
    ['no id', { statuses: [{ message: '', state: TaskState.running }] }],
    [
      'an id from a prototype',
      { statuses: [JSON.parse('{"__proto__":{"id":"x"},"state":512,"message":""}')] },
    ],
  ])('nonsense is refused: %s', async (_what, body) => {
    const { node } = await oneTask();
    await expect(node.call('session.report', body)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('what a node says of a task is bounded, and fields that are not known are not kept', async () => {
    const { node, manager, id } = await oneTask();
    await node.report({
      id,
      state: TaskState.failed,
      message: 'm'.repeat(100_000),
      error: 'e'.repeat(100_000),
      container: { id: 'c'.repeat(100_000), pid: 7, exitCode: 1, more: 'x' },
      ports: Array.from({ length: 10_000 }, () => ({
        TargetPort: 80,
        PublishedPort: 8080,
        Protocol: 'tcp',
        x: 1,
      })),
      running: 5,
      at: 5,
      huge: 'h'.repeat(100_000),
    });
    await manager.rig.clock.advance(100);
    const status = manager.tasks('s')[0]?.status;
    expect(status).toMatchObject({
      message: 'm'.repeat(limits.swarmStatusTextMax),
      error: 'e'.repeat(limits.swarmStatusTextMax),
      container: { id: 'c'.repeat(limits.swarmStatusTextMax), pid: 7, exitCode: 1 },
    });
    expect(status?.ports?.length).toBe(limits.swarmStatusPortsMax);
    expect(status?.ports?.[0]).toEqual({
      TargetPort: 80,
      PublishedPort: 8080,
      Protocol: 'tcp',
      PublishMode: 'host',
    });
    expect([status?.running, status?.at === 5, JSON.stringify(status).includes('hhh')]).toEqual([
      undefined,
      false,
      false,
    ]);
  });

  test('labels of a node called as those of every object are stored as such', async () => {
    const { node, manager } = await oneTask();
    const description: unknown = JSON.parse('{"Hostname":"h","Engine":{"Labels":{"__proto__":"x"}}}');
    await node.call('session.describe', { description });
    await manager.rig.clock.advance(100);
    const stored = manager.cluster.part('nodeDescription', 'n1')?.description;
    expect(Object.keys(stored?.Engine?.Labels ?? {})).toEqual(['__proto__']);
  });

  test('7: tasks of a node that is down are replaced elsewhere after 15 s', async () => {
    const made = await leadingDispatcher(nodeWrites('n1'), nodeWrites('n2'), serviceWrites('s'));
    const nodes = await opened(made, 'n1', 'n2');
    const { manager } = made;
    await Promise.all(
      nodes.map((node) => node.report(...node.tasks.map((id) => ({ id, state: TaskState.running })))),
    );
    await manager.rig.clock.advance(100);
    const lost = manager.tasks('s').filter(({ record }) => record.node === 'n1');
    expect(lost.length).toBeGreaterThan(0);
    await keep(nodes.slice(1), made, 20_000);
    const wanted = manager.tasks('s').filter(({ record }) => record.desired <= TaskState.running);
    expect(wanted.map(({ record }) => record.node)).toEqual(['n2', 'n2', 'n2']);
    expect(lost.map(({ record }) => record.desired)).toEqual(lost.map(() => TaskState.shutdown));
  });

  test('96: after a day what became of the tasks of a node is held for unknown for ever', async () => {
    const made = await oneTask();
    const { node, other, manager, id } = made;
    await node.report({ id, state: TaskState.running });
    await manager.rig.clock.advance(100);
    await keep([other], made, 20_000);
    expect(manager.cluster.part('nodeState', 'n1')?.state).toBe('down');
    await manager.rig.clock.advance(limits.swarmOrphanAfterMs - 30_000);
    expect(manager.cluster.part('status', id)?.state).toBe(TaskState.running);
    await manager.rig.clock.advance(31_000);
    expect(manager.cluster.part('status', id)).toMatchObject({
      state: TaskState.orphaned,
      error: 'the node was down for 24 hours',
    });
  });

  test('96: the day goes on under another leader', async () => {
    const made = await oneTask();
    const { node, manager, id } = made;
    await node.report({ id, state: TaskState.running });
    await manager.rig.clock.advance(20_000);
    expect(manager.cluster.part('nodeState', 'n1')?.state).toBe('down');
    await manager.rig.clock.advance(limits.swarmOrphanAfterMs / 2);
    await manager.leadership?.[Symbol.asyncDispose]();
    await manager.lead({ loops: [made.dispatcher] });
    await manager.rig.clock.advance(limits.swarmOrphanAfterMs / 2);
    await manager.rig.clock.advance(10_000);
    expect(manager.cluster.part('status', id)?.state).toBe(TaskState.orphaned);
  });

  test('a task is written three times in its life', async () => {
    const made = await oneTask();
    const { node, manager, id } = made;
    for (const state of [TaskState.accepted, TaskState.preparing, TaskState.starting, TaskState.running]) {
      await node.report({ id, state });
      await manager.rig.clock.advance(500);
    }
    await manager.write(
      ...one('n1').map((write) =>
        write.part === 'service' && write.value !== null
          ? {
              ...write,
              value: { ...write.value, spec: { ...write.value.spec, Mode: { Replicated: { Replicas: 0 } } } },
            }
          : write,
      ),
    );
    await manager.rig.clock.advance(200);
    expect(node.assignments.at(-1)?.tasks[0]?.desired).toBe(TaskState.remove);
    await node.report({ id, state: TaskState.shutdown });
    await manager.rig.clock.advance(200);
    expect(manager.tasks('s')).toEqual([]);
    expect(node.assignments.at(-1)?.removedTasks).toEqual([id]);
    // With values: created, running, to be removed. Then one deletion of both keys.
    const puts = manager.writesOf('task', id) + manager.writesOf('status', id) - 2;
    expect(puts).toBe(3);
  });
});

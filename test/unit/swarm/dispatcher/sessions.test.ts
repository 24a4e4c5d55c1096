import { describe, expect, test } from 'vitest';
import { put, remove } from '../../../../swarm/objects/parts.ts';
import { leaderIn } from '../../../../swarm/protocol/not-leader.ts';
import { clusterWrite, nodeWrites } from '../../../support/swarm/builders.ts';
import { DispatchedNode, dispatching, leadingDispatcher } from '../../../support/swarm/dispatched-node.ts';
import { networksChange } from '../../../support/swarm/networks.ts';
import type { ManagerRig } from '../../../support/swarm/manager-rig.ts';
import { SwarmRig } from '../../../support/swarm/manager-rig.ts';

const stateOf = (manager: ManagerRig, node: string): string | undefined =>
  manager.cluster.part('nodeState', node)?.state;

async function beat(
  node: DispatchedNode,
  manager: ManagerRig,
  forMs: number,
  everyMs = 5_000,
): Promise<void> {
  for (let ms = 0; ms < forMs; ms += everyMs) {
    await manager.rig.clock.advance(everyMs);
    await node.heartbeat();
  }
}

describe('sessions', () => {
  test('the first messages: session, managers, the wish for the node, the root, its networks and tasks', async () => {
    const { dispatcher } = await leadingDispatcher(nodeWrites('n1', { Role: 'manager' }));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    expect(node.session).toMatch(/^[0-9a-z]{25}$/);
    expect(node.told.slice(1)).toEqual([
      { kind: 'managers', managers: [{ node: 'm1', addr: 'm1:2377' }] },
      { kind: 'node', spec: { Role: 'manager', Availability: 'active' }, role: 'worker' },
      { kind: 'root', trustPem: 'PEM', issuerSubject: 'subject', issuerPublicKey: 'key' },
      { kind: 'networks', change: networksChange({ full: true }) },
      {
        kind: 'assignments',
        assignments: {
          full: true,
          tasks: [],
          removedTasks: [],
          secrets: [],
          removedSecrets: [],
          configs: [],
          removedConfigs: [],
        },
      },
    ]);
  });

  test('what changes of these is told again', async () => {
    const { dispatcher, facts, manager } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    const before = node.told.length;
    facts.managersNow = [];
    facts.change();
    await manager.write(
      put('node', { id: 'n1', created: 0, updated: 1, spec: { Role: 'manager', Availability: 'drain' } }),
    );
    expect(node.told.slice(before)).toMatchObject([
      { kind: 'managers', managers: [] },
      { kind: 'node', spec: { Role: 'manager', Availability: 'drain' } },
    ]);
  });

  test('a follower names the leader, for the node to go there', async () => {
    const rig = new SwarmRig();
    const first = await dispatching('m1', rig);
    await first.manager.begin(nodeWrites('n1'));
    const second = await dispatching('m2', rig);
    const alone = await DispatchedNode.open(second.dispatcher, 'n1');
    expect(alone.ended).toBe('this manager does not lead the swarm, and knows of no leader');
    await first.manager.lead({ loops: [first.dispatcher] });
    await second.manager.lead({ loops: [second.dispatcher] });
    const node = new DispatchedNode(second.dispatcher, 'n1');
    const error: unknown = await node.heartbeat().catch((thrown: unknown) => thrown);
    expect(leaderIn(error)).toBe('m1:2377');
  });

  test('92: a second session ends the first', async () => {
    const { dispatcher } = await leadingDispatcher(nodeWrites('n1'));
    const first = await DispatchedNode.open(dispatcher, 'n1');
    const second = await DispatchedNode.open(dispatcher, 'n1');
    expect([first.ended, second.ended]).toEqual(['session invalid', undefined]);
    await expect(first.heartbeat()).rejects.toThrow('session invalid');
    await expect(second.heartbeat()).resolves.toHaveProperty('heartbeatMs');
  });

  test('93: at most three sessions within 8 s, of each node', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'), nodeWrites('n2'));
    const open = async (id: string): Promise<string | undefined> =>
      (await DispatchedNode.open(dispatcher, id)).ended;
    expect([await open('n1'), await open('n1'), await open('n1')]).toEqual([undefined, undefined, undefined]);
    expect(await open('n1')).toBe('node n1 exceeded rate limit count of 3 sessions');
    expect(await open('n2')).toBeUndefined();
    await manager.rig.clock.advance(8_000);
    expect(await open('n1')).toBeUndefined();
  });

  test('94: after three periods without a heartbeat a node is down, and its session over', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    await beat(node, manager, 60_000);
    expect(stateOf(manager, 'n1')).toBe('ready');
    await manager.rig.clock.advance(14_990);
    expect([stateOf(manager, 'n1'), node.ended]).toEqual(['ready', undefined]);
    await manager.rig.clock.advance(20);
    expect(manager.cluster.part('nodeState', 'n1')).toMatchObject({
      state: 'down',
      message: 'heartbeat failure',
    });
    expect(node.ended).toBe('session invalid');
    await expect(node.heartbeat()).rejects.toThrow('session invalid');
  });

  test('94: another period of heartbeats counts at once', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    await manager.write(clusterWrite({ Dispatcher: { HeartbeatPeriod: 20e9 } }));
    const answer = (await node.heartbeat()) as { heartbeatMs: number };
    expect(Math.abs(answer.heartbeatMs - 20_000)).toBeLessThanOrEqual(500);
    await manager.rig.clock.advance(59_000);
    expect(stateOf(manager, 'n1')).toBe('ready');
    await manager.rig.clock.advance(2_000);
    expect(stateOf(manager, 'n1')).toBe('down');
  });

  test('nodes are asked for heartbeats at times that differ', async () => {
    const { dispatcher } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    const answers = await Promise.all(Array.from({ length: 50 }, () => node.heartbeat()));
    const periods = answers.map((answer) => (answer as { heartbeatMs: number }).heartbeatMs);
    expect(Math.min(...periods)).toBeGreaterThanOrEqual(4_500);
    expect(Math.max(...periods)).toBeLessThanOrEqual(5_500);
    expect(new Set(periods).size).toBeGreaterThan(30);
  });

  test('a connection that is cut decides nothing while heartbeats would be due', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    await node.cut();
    await manager.rig.clock.advance(10_000);
    expect(stateOf(manager, 'n1')).toBe('ready');
    const again = await DispatchedNode.open(dispatcher, 'n1');
    await beat(again, manager, 60_000);
    expect(stateOf(manager, 'n1')).toBe('ready');
  });

  test('a node that leaves for good is down at once', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    const left = node.call('session.leave', {});
    await manager.rig.clock.advance(10);
    await left;
    expect(manager.cluster.part('nodeState', 'n1')).toMatchObject({
      state: 'down',
      message: 'node has left the swarm',
    });
  });

  test('a node that was down is ready again with its session', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    await manager.rig.clock.advance(30_100);
    expect(stateOf(manager, 'n1')).toBe('down');
    await DispatchedNode.open(dispatcher, 'n1');
    expect(manager.cluster.part('nodeState', 'n1')).toMatchObject({
      state: 'ready',
      message: '',
      addr: '10.0.0.7',
    });
  });

  test('95: a new leader holds nodes for unknown, stores nothing of it, and hears that they are there', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'), nodeWrites('n2'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    await DispatchedNode.open(dispatcher, 'n2');
    await manager.leadership?.[Symbol.asyncDispose]();
    expect(node.ended).toBe('this manager leads the swarm no more');
    const second = await dispatching('m2', manager.rig);
    const before = manager.rig.transactions.length;
    await second.manager.lead({ loops: [second.dispatcher] });
    expect(second.manager.leading.state.nodes.get('n1')?.state).toMatchObject({
      state: 'unknown',
      message: 'Node moved to "unknown" state due to leadership change in cluster',
    });
    await DispatchedNode.open(second.dispatcher, 'n1');
    expect(second.manager.leading.state.nodes.get('n1')?.state?.state).toBe('ready');
    expect(second.manager.leading.state.nodes.get('n2')?.state?.state).toBe('unknown');
    await manager.rig.clock.advance(14_000);
    // The leader's key alone.
    expect(manager.rig.transactions.slice(before).map(({ keys }) => keys)).toEqual([['lease/leader']]);
  });

  test('95: after six periods nodes that did not come are down', async () => {
    const { manager } = await leadingDispatcher(nodeWrites('n1'));
    await manager.rig.clock.advance(29_900);
    expect(stateOf(manager, 'n1')).toBe('ready');
    await manager.rig.clock.advance(110);
    expect(stateOf(manager, 'n1')).toBe('down');
  });

  test('1,000 idle nodes write nothing', async () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    const { dispatcher, manager } = await leadingDispatcher(...ids.map((id) => nodeWrites(id)));
    const nodes = await Promise.all(ids.map((id) => DispatchedNode.open(dispatcher, id)));
    await manager.rig.clock.advance(2_000);
    const before = manager.rig.transactions.length;
    for (let round = 0; round < 6; round += 1) {
      await manager.rig.clock.advance(5_000);
      await Promise.all(nodes.map((node) => node.heartbeat()));
      await Promise.all(
        nodes.map((node) => node.call('session.describe', { description: { Hostname: node.id } })),
      );
    }
    expect(manager.rig.transactions.length).toBe(before);
  });

  test('1,000 nodes that come at once are stored some at a time', async () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
    const { dispatcher, manager } = await leadingDispatcher(...ids.map((id) => nodeWrites(id)));
    await manager.rig.clock.advance(31_000);
    expect(manager.cluster.state.nodes.size).toBe(1_000);
    const before = manager.rig.transactions.length;
    await Promise.all(ids.map((id) => DispatchedNode.open(dispatcher, id)));
    await manager.rig.clock.advance(1_000);
    expect(ids.filter((id) => stateOf(manager, id) !== 'ready')).toEqual([]);
    expect(manager.rig.transactions.length - before).toBeLessThan(30);
  });

  test('a description is stored when it differs, and bounded', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    const description = { Hostname: 'other', Engine: { Labels: { a: 'b' } } };
    await node.call('session.describe', { description });
    await manager.rig.clock.advance(10);
    expect(manager.cluster.part('nodeDescription', 'n1')?.description).toEqual(description);
    const huge = { Hostname: 'x'.repeat(64 * 1024) };
    await expect(node.call('session.describe', { description: huge })).rejects.toThrow(
      'at most 65536 are taken',
    );
    expect((await DispatchedNode.open(dispatcher, 'n1', huge)).ended).toContain('at most 65536 are taken');
    expect(node.ended).toBeUndefined();
  });

  test('111: a node that is removed has no session, and gets none', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    const node = await DispatchedNode.open(dispatcher, 'n1');
    await manager.write(remove('node', 'n1'), remove('nodeState', 'n1'), remove('nodeDescription', 'n1'));
    expect(node.ended).toBe('node n1 not found');
    expect((await DispatchedNode.open(dispatcher, 'n1')).ended).toBe('node n1 not found');
    await manager.rig.clock.advance(60_000);
    expect(manager.cluster.part('nodeState', 'n1')).toBeUndefined();
  });

  test('a state is written until it stands, whatever the store says', async () => {
    const { dispatcher, manager } = await leadingDispatcher(nodeWrites('n1'));
    await manager.rig.clock.advance(31_000);
    for (const kind of ['unavailable', 'conflict', 'lost answer'] as const) {
      manager.faults.add('commit', { kind });
    }
    await DispatchedNode.open(dispatcher, 'n1');
    await manager.rig.clock.advance(1_000);
    expect(stateOf(manager, 'n1')).toBe('ready');
  });
});

import { describe, expect, test } from 'vitest';
import { limits } from '../../../../daemon/base/limits.ts';
import { put } from '../../../../swarm/objects/parts.ts';
import { LEADER_KEY } from '../../../../swarm/objects/values.ts';
import type { LeaderLoop } from '../../../../swarm/leader/ports.ts';
import { nodeWrites, serviceWrites } from '../../../support/swarm/builders.ts';
import { SwarmRig, type ManagerRig } from '../../../support/swarm/manager-rig.ts';

async function twoManagers(): Promise<{ rig: SwarmRig; first: ManagerRig; second: ManagerRig }> {
  const rig = new SwarmRig();
  const first = await rig.manager('m1');
  await first.begin(nodeWrites('n1'));
  await first.lead();
  const second = await (await rig.manager('m2')).lead();
  return { rig, first, second };
}

describe('leading', () => {
  test('one of two leads, and both say who', async () => {
    const { first, second } = await twoManagers();
    expect(first.leadership?.leading).toBeDefined();
    expect(second.leadership?.leading).toBeUndefined();
    expect([first, second].map(({ leadership }) => leadership?.leader)).toEqual([
      { node: 'm1', addr: 'm1:2377' },
      { node: 'm1', addr: 'm1:2377' },
    ]);
  });

  test('a leader that is disposed of is followed at once', async () => {
    const { rig, first, second } = await twoManagers();
    await first.leadership?.[Symbol.asyncDispose]();
    await rig.clock.advance(1);
    expect(second.leadership?.leading).toBeDefined();
    expect(first.leadership?.leader).toEqual({ node: 'm2', addr: 'm2:2377' });
  });

  test('a leader that resigns lets another one lead, and leads again when there is none', async () => {
    const { rig, first, second } = await twoManagers();
    const resigned = first.leadership?.resign();
    await rig.clock.advance(100);
    await resigned;
    expect(first.leadership?.leading).toBeUndefined();
    expect(second.leadership?.leading).toBeDefined();
    await second.leadership?.[Symbol.asyncDispose]();
    await rig.clock.advance(limits.swarmLeaderTtlMs);
    expect(first.leadership?.leading).toBeDefined();
  });

  test('117: a leader whose lease was lost behind its back writes nothing any more, and hears of it', async () => {
    const { rig, first, second } = await twoManagers();
    const { leading } = first;
    rig.store.apply([{ kind: 'delete', key: LEADER_KEY }]);
    await rig.clock.advance(1);
    expect(second.leadership?.leading).toBeDefined();
    const late = leading.commit({ conditions: [], parts: nodeWrites('n2') });
    await expect(late).rejects.toMatchObject({ failure: 'fenced' });
    await rig.clock.advance(1);
    expect(leading.signal.aborted).toBe(true);
    expect(first.cluster.state.nodes.has('n2')).toBe(false);
  });

  test('a leader whose key was deleted leads no more at once, without a write', async () => {
    const { rig, first, second } = await twoManagers();
    const { leading } = first;
    rig.store.apply([{ kind: 'delete', key: LEADER_KEY }]);
    await rig.clock.advance(1);
    expect(leading.signal.aborted).toBe(true);
    expect(second.leadership?.leading).toBeDefined();
    await rig.clock.advance(limits.swarmLeaderTtlMs);
    expect([first, second].map(({ leadership }) => leadership?.leading !== undefined)).toEqual([false, true]);
  });

  test('a store that is away for half the life of a lease does not end the leadership', async () => {
    const rig = new SwarmRig();
    const manager = await (await (await rig.manager()).begin(nodeWrites('n1'))).lead();
    for (let call = 0; call < limits.swarmLeaderTtlMs / 2 / limits.swarmStoreRetryMs; call += 1) {
      manager.faults.add('keepAlive', { kind: 'unavailable' });
    }
    const { leading } = manager;
    await rig.clock.advance(3 * limits.swarmLeaderTtlMs);
    expect(leading.signal.aborted).toBe(false);
  });

  test('what a leader left undone its successor does', async () => {
    const { rig, first, second } = await twoManagers();
    await first.write(...serviceWrites('s'));
    await first.leadership?.[Symbol.asyncDispose]();
    await rig.clock.advance(1);
    await rig.clock.advance(60);
    expect(second.tasks('s').map(({ record }) => record.node)).toEqual(['n1', 'n1', 'n1']);
  });

  test('a store that is away for the life of a lease ends the leadership; it comes back by itself', async () => {
    const rig = new SwarmRig();
    const manager = await (await (await rig.manager()).begin(nodeWrites('n1'))).lead();
    const { leading } = manager;
    for (let call = 0; call < limits.swarmLeaderTtlMs / limits.swarmStoreRetryMs; call += 1) {
      manager.faults.add('keepAlive', { kind: 'unavailable' });
    }
    await rig.clock.advance(limits.swarmLeaderTtlMs + 10);
    expect(leading.signal.aborted).toBe(true);
    await rig.clock.advance(1_000);
    expect(manager.leadership?.leading).toBeDefined();
  });

  test('other work begins with the leadership and ends with it, in the opposite order', async () => {
    const told: string[] = [];
    const loop = (name: string): LeaderLoop => ({
      start: ({ state }) => {
        told.push(`${name} starts, ${state.nodes.size} nodes`);
        return { [Symbol.asyncDispose]: async () => void told.push(`${name} ends`) };
      },
    });
    const rig = new SwarmRig();
    const manager = await (await rig.manager()).begin(nodeWrites('n1'));
    await manager.lead({ loops: [loop('a'), loop('b')] });
    await manager.leadership?.[Symbol.asyncDispose]();
    expect(told).toEqual(['a starts, 1 nodes', 'b starts, 1 nodes', 'b ends', 'a ends']);
  });

  test('a leader begins when it has all that was written before its election', async () => {
    const rig = new SwarmRig();
    const first = await (await rig.manager('m1')).begin(nodeWrites('n1'));
    const late = await rig.manager('m2');
    late.faults.add('watch', { kind: 'delay', ms: 300 });
    await first.write(
      put('node', { id: 'n9', created: 0, updated: 0, spec: { Role: 'worker', Availability: 'active' } }),
    );
    await late.lead();
    await rig.clock.advance(200);
    expect(late.leadership?.leading).toBeUndefined();
    await rig.clock.advance(200);
    expect(late.leading.state.nodes.has('n9')).toBe(true);
  });
});

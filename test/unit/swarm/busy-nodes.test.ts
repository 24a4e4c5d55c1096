import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { Agent } from '../../../swarm/agent/agent.ts';
import { ManualClock, settled } from '../../support/fakes/manual-clock.ts';
import { AttachedSwarm } from '../../support/swarm/attached-swarm.ts';
import { nodeWrites } from '../../support/swarm/builders.ts';
import { FakeExecutor } from '../../support/swarm/fake-executor.ts';
import { FakeLeader } from '../../support/swarm/fake-leader.ts';
import { FreezableClock } from '../../support/swarm/freezable-clock.ts';

const BUSY_MS = 10_000;
const STEP_MS = 1_000;

test('a node whose daemon does nothing for 10 s, whenever that begins, is not held for down', async () => {
  await using swarm = await AttachedSwarm.start(['m1'], nodeWrites('n1'));
  const clock = new FreezableClock(swarm.rig.clock);
  await swarm.startNode('n1', { clock });
  const { cluster } = swarm.manager('m1').manager;
  const seen = new Set<string | undefined>();
  for (let laterMs = 0; laterMs < 6_000; laterMs += 750) {
    await swarm.pass(20_000 + laterMs);
    clock.freeze();
    for (let passedMs = 0; passedMs < BUSY_MS; passedMs += STEP_MS) {
      await swarm.rig.clock.advance(STEP_MS);
      seen.add(cluster.part('nodeState', 'n1')?.state);
    }
    clock.thaw();
    for (let passedMs = 0; passedMs < BUSY_MS; passedMs += STEP_MS) {
      await swarm.rig.clock.advance(STEP_MS);
      seen.add(cluster.part('nodeState', 'n1')?.state);
    }
  }
  expect([...seen]).toEqual(['ready']);
});

test('one that does nothing for longer is down, and back with its first word', async () => {
  await using swarm = await AttachedSwarm.start(['m1'], nodeWrites('n1'));
  const clock = new FreezableClock(swarm.rig.clock);
  await swarm.startNode('n1', { clock });
  const state = () => swarm.manager('m1').manager.cluster.part('nodeState', 'n1')?.state;
  clock.freeze();
  await swarm.pass(16_000);
  expect(state()).toBe('down');
  clock.thaw();
  await swarm.pass(1_000);
  expect(state()).toBe('ready');
});

/** The longest that a leader names for a period of 5 s, and a node that takes all of it: both spread their times. */
const LONGEST_MS = 5_500;
const DOWN_MS = 15_000;

test('heartbeats come so early that none is missed for a node that does nothing for two periods', async () => {
  const manual = new ManualClock();
  const clock = new FreezableClock(manual);
  const leader = new FakeLeader();
  leader.heartbeatMs = LONGEST_MS;
  leader.heartbeatAnswer = { heartbeatMs: LONGEST_MS };
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-busy-'));
  await using agent = await Agent.start({
    executor: new FakeExecutor(),
    dial: leader.dial,
    managers: () => [{ node: 'm1', addr: 'm1:2377' }],
    clock,
    logger: silentLogger,
    random: { bytes: (count) => new Uint8Array(count) },
    stateDirectory: directory,
    node: { id: 'n1', hostname: 'n1' },
    addr: '10.0.0.1',
    dataAddr: '',
    tlsInfo: () => ({}),
    onNode: () => undefined,
    onRoot: () => undefined,
    onManagers: () => undefined,
  });
  await settled();
  expect(agent.trouble).toBe(undefined);
  const beats = (): number => leader.bodies('session.heartbeat').length;
  const begun = manual.monotonicMs();
  // Up to the moment of the first one, which is not sent any more.
  clock.freeze();
  await manual.advance(Math.min(...manual.pendingMs));
  expect(beats()).toBe(0);
  await manual.advance(BUSY_MS);
  clock.thaw();
  await settled();
  expect(beats()).toBe(1);
  expect(manual.monotonicMs() - begun).toBeLessThan(DOWN_MS);
  rmSync(directory, { recursive: true });
});

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../daemon/base/logger.ts';
import { Agent } from '../../../../swarm/agent/agent.ts';
import { ManualClock, settled } from '../../../support/fakes/manual-clock.ts';
import { FakeExecutor } from '../../../support/swarm/fake-executor.ts';
import { assignedTask, FakeLeader, taskId } from '../../../support/swarm/fake-leader.ts';
import { waitFor } from '../../../support/wait-for.ts';

const ROUNDS = 10;
const TASKS = 20;
const TASK_BYTES_MAX = 8_192;

test('what a node keeps of its tasks is as much as it has tasks, however many there were', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-store-'));
  const leader = new FakeLeader();
  const clock = new ManualClock();
  const agent = await Agent.start({
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
  await waitFor(() => expect(leader.session.isOpen).toBe(true));
  const kept = (): string[] => readdirSync(join(directory, 'tasks')).toSorted();
  for (let round = 0; round < ROUNDS; round += 1) {
    const ids = Array.from({ length: TASKS }, (_, at) => taskId(round * TASKS + at));
    leader.session.assign(ids.map((id) => assignedTask(id)));
    await waitFor(async () => {
      await clock.advance(100);
      await settled();
      expect(kept()).toEqual(ids.map((id) => `${id}.json`).toSorted());
    });
  }
  const sizes = kept().map((name) => statSync(join(directory, 'tasks', name)).size);
  expect(Math.max(...sizes)).toBeLessThan(TASK_BYTES_MAX);
  expect(readdirSync(directory)).toEqual(['tasks']);
  await agent[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

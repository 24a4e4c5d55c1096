import { armHere } from '../../support/fakes/failpoints.ts';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLogger } from '../../../daemon/base/logger.ts';
import { dropTasks } from '../../../swarm/drop-tasks.ts';
import { FakeExecutor } from '../../support/swarm/fake-executor.ts';

let root = '';
let agentDirectory = '';
let executor = new FakeExecutor();
const errors: string[] = [];
const logger = {
  ...silentLogger,
  error: (...said: unknown[]) => {
    errors.push(String(said[1]));
  },
};

beforeEach(() => {
  root = mkdtempSync('/tmp/berth-test-drop-');
  agentDirectory = path.join(root, 'agent');
  mkdirSync(path.join(agentDirectory, 'tasks'), { recursive: true });
  writeFileSync(path.join(agentDirectory, 'tasks/one'), '{}');
  executor = new FakeExecutor();
  for (const task of ['one', 'two', 'three']) {
    executor.containers.set(task, {
      id: `container-of-${task}`,
      task,
      state: 'running',
      exitCode: 0,
      starts: 1,
      ended: new Set(),
    });
  }
  errors.length = 0;
});
afterEach(() => {
  armHere('');
  rmSync(root, { recursive: true, force: true });
});

test('drop: containers, networks and files of tasks go', async () => {
  await dropTasks({ agentDirectory, executor, logger });
  expect([...executor.containers.keys()]).toEqual([]);
  expect(executor.networkChanges.map(({ full, networks }) => ({ full, networks }))).toEqual([
    { full: true, networks: [] },
  ]);
  expect(existsSync(agentDirectory)).toBe(false);
  expect(errors).toEqual([]);
});

test('drop: a host that never had an agent is not looked at', async () => {
  rmSync(agentDirectory, { recursive: true });
  await dropTasks({ agentDirectory, executor, logger });
  expect(executor.containers.size).toBe(3);
  expect(executor.networkChanges).toEqual([]);
});

test('drop: a task that stays is logged, and keeps no other', async () => {
  executor.before = (step, task) => {
    if (step === 'remove' && task === 'two') {
      throw new Error('device or resource busy');
    }
  };
  executor.networks = () => Promise.reject(new Error('no netlink'));
  await dropTasks({ agentDirectory, executor, logger });
  expect([...executor.containers.keys()]).toEqual(['two']);
  expect(existsSync(agentDirectory)).toBe(false);
  expect(errors).toEqual([
    'task two could not be removed with the swarm',
    'networks could not be removed with the swarm',
  ]);
});

test('drop: files that stay are logged, and the next time they go', async () => {
  armHere('swarm.leave.tasks-forgotten=errno(EROFS)@1');
  await dropTasks({ agentDirectory, executor, logger });
  expect(errors).toEqual(['files of tasks could not be removed with the swarm']);
  expect(executor.containers.size).toBe(0);
  await dropTasks({ agentDirectory, executor, logger });
  expect(existsSync(agentDirectory)).toBe(false);
});

import { beforeEach, describe } from 'vitest';
import { describeExecutor } from '../../../support/tasks/executor-contract.ts';
import { FakeExecutor } from '../../../support/swarm/fake-executor.ts';

describe('the fake executor', () => {
  let executor: FakeExecutor;
  beforeEach(() => {
    executor = new FakeExecutor();
  });
  describeExecutor(() => ({
    executor,
    end: (id, exitCode) => {
      executor.exit(id, exitCode);
      return Promise.resolve();
    },
    starts: (id) => Promise.resolve(executor.containers.get(id)?.starts ?? 0),
  }));
});

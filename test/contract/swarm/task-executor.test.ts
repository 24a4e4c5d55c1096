import { afterAll, beforeAll, describe } from 'vitest';
import { describeExecutor } from '../../support/tasks/executor-contract.ts';
import { TaskDaemon } from '../../support/tasks/task-daemon-client.ts';

describe('tasks as containers of this engine', () => {
  let daemon: TaskDaemon;
  beforeAll(async () => {
    daemon = await TaskDaemon.make();
  });
  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
  });

  describeExecutor(() => ({
    executor: daemon.executor,
    end: (id, exitCode) => daemon.end(id, exitCode),
    starts: (id) => daemon.starts(id),
  }));
});

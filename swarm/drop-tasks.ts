import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { errorText } from '../daemon/base/errors.ts';
import { failpoint } from '../daemon/base/failpoint.ts';
import type { Logger } from '../daemon/base/logger.ts';
import type { Executor } from './agent/executor.ts';
import { noNetworks } from './protocol/networks.ts';

/**
 * Ends what an agent had on this host, where no agent runs: containers of tasks, networks, its files. A step that fails
 * is logged and keeps none of the others. Without the agent's directory there is nothing to end.
 */
export async function dropTasks({
  agentDirectory,
  executor,
  logger,
}: {
  agentDirectory: string;
  executor: Pick<Executor, 'leftovers' | 'remove' | 'networks'>;
  logger: Logger;
}): Promise<void> {
  if (!existsSync(agentDirectory)) {
    return;
  }
  const attempt = async (what: string, step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (error) {
      logger.error({ error: errorText(error) }, `${what} could not be removed with the swarm`);
    }
  };
  await attempt('tasks', async () => {
    const tasks = await executor.leftovers();
    await Promise.all(tasks.map((task) => attempt(`task ${task}`, () => executor.remove(task))));
  });
  // After the tasks, which are in them.
  await attempt('networks', () => executor.networks(noNetworks({ addr: '', port: 0 })));
  await attempt('files of tasks', async () => {
    failpoint('swarm.leave.tasks-forgotten');
    await rm(agentDirectory, { recursive: true, force: true });
  });
}

import type { Executor } from '../../swarm/agent/executor.ts';
import { ContainerChanges } from './container-changes.ts';
import type { TaskContext } from './context.ts';
import { removeTask, stopTask, waitForEnd } from './end.ts';
import { TASK_ID_LABEL } from './labels.ts';
import { MemoryFiles } from './memory-files.ts';
import { nodeDescription } from './node-description.ts';
import type { TaskDeps } from './ports.ts';
import { prepareTask } from './prepare.ts';
import { TaskImages } from './pulls.ts';
import { startTask } from './start.ts';
import { taskContainers } from './task-containers.ts';
import { logsOfTasks } from './task-logs.ts';

/** Runs tasks as containers of this engine. Disposal ends what it listens to; containers run on. */
export function createExecutor(deps: TaskDeps): Executor & Disposable {
  const context: TaskContext = {
    ...deps,
    pulls: new TaskImages(deps),
    files: new MemoryFiles(deps.filesDirectory, deps.mounts),
    changes: new ContainerChanges(deps),
  };
  return {
    describe: async () => nodeDescription(await deps.system.info()),
    subnets: () => Promise.resolve(deps.subnets()),
    networks: (change) => deps.overlays.apply(change),
    attachments: () => Promise.resolve(deps.attachments.list()),
    prepare: (task, signal) => prepareTask(context, task, signal),
    start: (task, signal) => startTask(context, task, signal),
    wait: (task, signal) => waitForEnd(context, task, signal),
    stop: (task) => stopTask(context, task),
    remove: (taskId) => removeTask(context, taskId),
    leftovers: () => leftovers(context),
    logs: (subscription, signal) => logsOfTasks(context, subscription, signal),
    [Symbol.dispose]: () => context.changes[Symbol.dispose](),
  };
}

/** Tasks of which there is a container, or files. */
async function leftovers(context: TaskContext): Promise<string[]> {
  const containers = await taskContainers(context);
  const ids = containers.flatMap(({ Labels }) => Labels[TASK_ID_LABEL] ?? []);
  return [...new Set([...ids, ...(await context.files.tasks())])];
}

import type { ContainerInspect } from '../../api/types/container.ts';
import type { RunningTask, TaskEnd, TaskToRun } from '../../swarm/agent/executor.ts';
import { EngineError, isEngineError } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import type { TaskContext } from './context.ts';
import { endOf, isUnhealthy } from './end.ts';
import { hostPorts } from './host-ports.ts';
import { hasRun, needContainer, unless } from './task-containers.ts';

/**
 * Starts a task's container, unless it has been started, and waits for the first verdict of its health check. Answers
 * its end where it ended or became unhealthy meanwhile. Throws what the start throws, in dockerd's words.
 */
export async function startTask(
  context: TaskContext,
  task: TaskToRun,
  signal: AbortSignal,
): Promise<RunningTask | TaskEnd> {
  const made = await needContainer(context, task.id);
  if (!hasRun(made)) {
    // Its files are gone with a reboot of the host.
    await context.files.write(task);
    await startContainer(context, made.Id);
  }
  const container = await judged(context, task, made.Id, signal);
  if (!container.State.Running || isUnhealthy(container)) {
    return await endOf(context, task, container);
  }
  return {
    container: container.Id,
    pid: container.State.Pid,
    ports: hostPorts(task.hostPorts, container),
  };
}

async function startContainer({ containers }: TaskContext, id: string): Promise<void> {
  failpoint('tasks.start');
  try {
    await unless('not_modified', () => containers.start(id, {}));
  } catch (error) {
    if (isEngineError(error)) {
      const { code, details, message } = error;
      throw new EngineError(code, `starting container failed: ${message}`, { cause: error, details });
    }
    throw error;
  }
}

/** The container once it has ended or its health is known; one without a check is as healthy as it can be. */
async function judged(
  context: TaskContext,
  task: TaskToRun,
  id: string,
  signal: AbortSignal,
): Promise<ContainerInspect> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    for (;;) {
      // Listened to before the look, so that no change is missed.
      const change = context.changes.next(id, either);
      const container = await needContainer(context, task.id);
      if (!container.State.Running || container.State.Health?.Status !== 'starting') {
        return container;
      }
      await change;
      signal.throwIfAborted();
    }
  } finally {
    over.abort();
  }
}

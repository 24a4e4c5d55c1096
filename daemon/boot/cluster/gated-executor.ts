import type { Executor, RunningTask, TaskEnd, TaskToRun } from '../../../swarm/agent/executor.ts';
import type { AssignedTask } from '../../../swarm/protocol/session.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { LabelledTask, TaskGate } from '../../cluster/targets/followers/task-gate.ts';

/** Labels of a service: the name of its target group, and the port where that is not the group's. */
export const GROUP_LABEL = 'berth.target-group';
const PORT_LABEL = 'berth.target-port';

/**
 * Runs tasks, and has those of labelled services pass the gate of their target group. `place`: its gate is undefined
 * where this host has no target groups, or none within reach.
 */
export function gatedExecutor(
  executor: Executor,
  place: { readonly gate: TaskGate | undefined },
  log: Logger,
): Executor {
  const start = async (task: TaskToRun, signal: AbortSignal): Promise<RunningTask | TaskEnd> => {
    const running = await executor.start(task, signal);
    const labelled = labelledTask(task.id, task.service);
    const open = place.gate;
    if (labelled === undefined || open === undefined || !('pid' in running)) {
      return running;
    }
    const reason = await open.started(labelled, signal);
    if (reason === undefined) {
      return running;
    }
    const end = await executor.stop(task);
    const cause = `unhealthy in target group ${labelled.group}: ${reason}`;
    return { container: running.container, exitCode: end?.exitCode || 1, cause };
  };
  const stop = async (task: AssignedTask): Promise<TaskEnd | undefined> => {
    const labelled = labelledTask(task.id, task.service);
    if (labelled !== undefined) {
      try {
        await place.gate?.stopping(labelled);
      } catch (error) {
        // What cannot be written down must not keep a task from being stopped.
        log.warn({ task: task.id, reason: errorText(error) }, 'a task is stopped without having drained');
      }
    }
    return await executor.stop(task);
  };
  return {
    describe: () => executor.describe(),
    subnets: () => executor.subnets(),
    networks: (change) => executor.networks(change),
    attachments: () => executor.attachments(),
    prepare: (task, signal) => executor.prepare(task, signal),
    start,
    wait: (task, signal) => executor.wait(task, signal),
    stop,
    remove: (taskId) => executor.remove(taskId),
    leftovers: () => executor.leftovers(),
    logs: (subscription, signal) => executor.logs(subscription, signal),
  };
}

/** Undefined: its service has no label, or one that says nothing. */
export function labelledTask(
  id: string,
  service: { id: string; labels: Readonly<Record<string, string>> },
): LabelledTask | undefined {
  const group = service.labels[GROUP_LABEL];
  const port = Number(service.labels[PORT_LABEL]);
  return group === undefined || group === ''
    ? undefined
    : { id, service: service.id, group, port: port >= 1 && port <= 65_535 ? port : undefined };
}

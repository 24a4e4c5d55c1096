import type { ContainerInspect } from '../../../api/types/container.ts';
import type { ContainerSpec } from '../../../api/types/swarm/container-spec.ts';
import type { TaskSpec } from '../../../api/types/swarm/task.ts';
import type { TaskToRun } from '../../../swarm/agent/executor.ts';
import type { AssignedTask } from '../../../swarm/protocol/session.ts';
import { taskToRun } from './executor-contract.ts';
import { taskId } from '../swarm/fake-leader.ts';
import type { TaskDaemon } from './task-daemon-client.ts';

/** The one task of a test. */
export const ID = taskId(1);

export type Rest = Partial<AssignedTask> & {
  secrets?: Map<string, Buffer>;
  configs?: Map<string, Buffer>;
  task?: TaskSpec;
};

export function taskOf(spec: ContainerSpec, { secrets, configs, task, ...rest }: Rest = {}): TaskToRun {
  return {
    ...taskToRun(ID, { ...rest, spec: { ...task, ContainerSpec: spec } }),
    ...(secrets && { secrets }),
    ...(configs && { configs }),
  };
}

export async function inspected(tasks: TaskDaemon): Promise<ContainerInspect> {
  return await tasks.daemon.http.ok<ContainerInspect>('GET', `/containers/web.1.${ID}/json`);
}

/** Prepares the task and starts it. */
export async function started(
  tasks: TaskDaemon,
  task: TaskToRun,
): ReturnType<TaskDaemon['executor']['start']> {
  const { signal } = new AbortController();
  await tasks.executor.prepare(task, signal);
  return await tasks.executor.start(task, signal);
}

/** What a command in the task's container says. */
export async function said(
  tasks: TaskDaemon,
  command: string,
  spec: ContainerSpec = {},
  rest: Rest = {},
): Promise<string> {
  const { signal } = new AbortController();
  const task = taskOf({ Command: ['sh', '-c', command], Args: [], ...spec }, rest);
  await started(tasks, task);
  await tasks.executor.wait(task, signal);
  const lines = [];
  const subscription = { id: 's', tasks: [ID], follow: false, stdout: true, stderr: true };
  for await (const { line } of tasks.executor.logs(subscription, signal)) {
    lines.push(Buffer.from(line, 'base64').toString());
  }
  return lines.join('').trim();
}

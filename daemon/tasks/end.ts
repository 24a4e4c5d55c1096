import type { ContainerInspect } from '../../api/types/container.ts';
import type { TaskEnd } from '../../swarm/agent/executor.ts';
import type { AssignedTask } from '../../swarm/protocol/session.ts';
import { EngineError, isEngineError } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { graceSeconds } from './container-request.ts';
import type { TaskContext } from './context.ts';
import { containersOf, findContainer, hasRun, needContainer, unless } from './task-containers.ts';

/** dockerd's words. */
const UNHEALTHY = 'dockerexec: unhealthy container';

/** Resolves when the container has ended, or has become unhealthy and was stopped. Throws not_found and canceled. */
export async function waitForEnd(
  context: TaskContext,
  task: AssignedTask,
  signal: AbortSignal,
): Promise<TaskEnd> {
  const { Id: container } = await needContainer(context, task.id);
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    const { done } = await context.containers.wait(container, { condition: 'not-running', signal: either });
    const ended = done.then(({ StatusCode: exitCode, Error: error }) =>
      taskEnd({ container, exitCode, cause: error?.Message }),
    );
    const first = await Promise.race([
      ended,
      unhealthy(context, task.id, container, either),
      fired(signal, over),
    ]);
    return 'State' in first ? await endOf(context, task, first) : first;
  } finally {
    over.abort();
  }
}

/** Stops it with the service's patience. Undefined where there is nothing to stop. */
export async function stopTask(context: TaskContext, task: AssignedTask): Promise<TaskEnd | undefined> {
  const found = await findContainer(context, task.id);
  return found === undefined || !hasRun(found) ? undefined : await stopped(context, task, found);
}

/** Removes it with its anonymous volumes and its files. */
export async function removeTask(context: TaskContext, taskId: string): Promise<void> {
  const { containers, files } = context;
  for (const id of await containersOf(context, taskId)) {
    failpoint('tasks.remove');
    await unless('not_found', () => containers.remove(id, { volumes: true, force: true, link: false }));
  }
  await files.remove(taskId);
}

/** Of a container that has ended, or is unhealthy: then it is stopped first. */
export async function endOf(
  context: TaskContext,
  task: AssignedTask,
  container: ContainerInspect,
): Promise<TaskEnd> {
  if (!isUnhealthy(container)) {
    return await stopped(context, task, container);
  }
  const { exitCode } = await stopped(context, task, container);
  return { container: container.Id, exitCode, cause: UNHEALTHY };
}

/** While it runs: of one that has ended `unhealthy` says nothing more. */
export function isUnhealthy({ State }: ContainerInspect): boolean {
  return State.Running && State.Health?.Status === 'unhealthy';
}

/** The container once it has become unhealthy; where it does not, this never resolves. */
async function unhealthy(
  context: TaskContext,
  taskId: string,
  id: string,
  signal: AbortSignal,
): Promise<ContainerInspect> {
  for (;;) {
    const change = context.changes.next(id, signal);
    const container = await findContainer(context, taskId);
    if (signal.aborted || container?.State.Running !== true || container.State.Health === undefined) {
      return await new Promise<never>(() => undefined);
    }
    if (isUnhealthy(container)) {
      return container;
    }
    await change;
  }
}

async function stopped(
  context: TaskContext,
  task: AssignedTask,
  { Id: container, State }: ContainerInspect,
): Promise<TaskEnd> {
  const { containers } = context;
  const timeoutS = graceSeconds(task.spec.ContainerSpec ?? {});
  failpoint('tasks.stop');
  try {
    await containers.stop(container, { ...(timeoutS !== undefined && { timeoutS }) });
  } catch (error) {
    if (!isEngineError(error, 'not_modified') && !isEngineError(error, 'not_found')) {
      throw error;
    }
  }
  const { ExitCode: exitCode, Error: cause } = (await findContainer(context, task.id))?.State ?? State;
  return taskEnd({ container, exitCode, cause });
}

/** The engine's error tells of an end that went wrong. */
function taskEnd(end: { container: string; exitCode: number; cause: string | undefined }): TaskEnd {
  const { container, exitCode, cause } = end;
  return { container, exitCode, ...(exitCode !== 0 && cause && { cause }) };
}

/** Rejects when the signal fires, unless it is over before. */
function fired(signal: AbortSignal, over: AbortController): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = (): void => reject(new EngineError('canceled', 'canceled'));
    signal.addEventListener('abort', end, { once: true, signal: over.signal });
    if (signal.aborted) {
      end();
    }
  });
}

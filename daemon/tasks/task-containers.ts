import type { ContainerInspect, ContainerSummary } from '../../api/types/container.ts';
import { isEngineError, notFound } from '../base/errors.ts';
import type { EngineError } from '../base/errors.ts';
import type { TaskContext } from './context.ts';
import { TASK_ID_LABEL } from './labels.ts';

/** The container of a task, whatever its state. */
export async function findContainer(
  context: Pick<TaskContext, 'containers'>,
  taskId: string,
): Promise<ContainerInspect | undefined> {
  const [id] = await containersOf(context, taskId);
  try {
    return id === undefined ? undefined : await context.containers.inspect(id, { size: false });
  } catch (error) {
    if (isEngineError(error, 'not_found')) {
      return undefined;
    }
    throw error;
  }
}

/** Throws not_found where a client has removed it. */
export async function needContainer(
  context: Pick<TaskContext, 'containers'>,
  taskId: string,
): Promise<ContainerInspect> {
  const found = await findContainer(context, taskId);
  if (found === undefined) {
    throw notFound(`No such container: the one of task ${taskId} was removed`);
  }
  return found;
}

/** Ids. There is more than one only where two daemons worked with one data root. */
export async function containersOf(
  context: Pick<TaskContext, 'containers'>,
  taskId: string,
): Promise<string[]> {
  return (await taskContainers(context, `${TASK_ID_LABEL}=${taskId}`)).map(({ Id }) => Id);
}

/** Containers that were made for tasks; a container that only has the labels, as its image has them, is none. */
export function taskContainers(
  { containers }: Pick<TaskContext, 'containers'>,
  label: string = TASK_ID_LABEL,
): Promise<ContainerSummary[]> {
  const filters = new Map([
    ['is-task', ['true']],
    ['label', [label]],
  ]);
  return containers.list({ all: true, limit: 0, size: false, filters });
}

/** Whether it was started, however that came out. */
export function hasRun({ State }: ContainerInspect): boolean {
  return State.Status !== 'created';
}

/** Runs it; an error of this code means that there is nothing to be done. */
export async function unless(code: EngineError['code'], action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!isEngineError(error, code)) {
      throw error;
    }
  }
}

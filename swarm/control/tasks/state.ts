import type { TaskState } from '../../objects/task-state.ts';
import type { TaskStatus } from '../../objects/task.ts';
import type { Task } from '../../planner/state/entries.ts';
import { observedState } from '../../planner/state/observed.ts';
import type { ControlContext } from '../context.ts';

/** The newest status of a task: what the leader has in memory, else what is stored. */
export function statusOf(
  context: Pick<ControlContext, 'statusOf'>,
  { id, status }: Task,
): TaskStatus | undefined {
  const newest = context.statusOf(id);
  return newest !== undefined && newest.state > (status?.state ?? -1) ? newest : status;
}

/** The state of a task as clients see it. */
export function stateOf(context: Pick<ControlContext, 'statusOf'>, task: Task): TaskState {
  return observedState({ ...task, status: statusOf(context, task) });
}

import { TaskState } from '../../objects/task-state.ts';
import type { Node, Task } from './entries.ts';

/** The state that the API shows: what was reported, and what follows from the record before anything was. Pure. */
export function observedState(task: Task): TaskState {
  if (task.status !== undefined) {
    return task.status.state;
  }
  if (task.record.node !== undefined) {
    return TaskState.assigned;
  }
  return task.record.refusal?.state ?? TaskState.pending;
}

/** Whether new tasks may go there: known, ready and active. Pure. */
export function takesTasks(node: Node | undefined): boolean {
  return node?.record?.spec.Availability === 'active' && node.state?.state === 'ready';
}

/** Whether tasks on it have to go elsewhere: removed, down or drained. An unknown node gets its time. Pure. */
export function losesTasks(node: Node | undefined): boolean {
  return isGone(node) || node?.record?.spec.Availability === 'drain';
}

/** Whether no answer is to be expected from it: removed or down. Pure. */
export function isGone(node: Node | undefined): boolean {
  return node?.record === undefined || node.state?.state === 'down';
}

/** Whether a task holds resources, ports and a place on its node: it has not ended, as far as is known. Pure. */
export function isAlive(task: Task): boolean {
  return observedState(task) <= TaskState.running;
}

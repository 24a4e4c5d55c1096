import { isTerminal, TaskState } from '../objects/task-state.ts';
import type { ServiceRecord } from '../objects/service.ts';
import type { Task } from './state/entries.ts';
import { isAlive, observedState } from './state/observed.ts';

/** Whether a task is to run or to be done, now or later. */
export function isWanted(task: Task): boolean {
  return task.record.desired <= TaskState.complete;
}

export function hasEnded(task: Task): boolean {
  return isTerminal(observedState(task));
}

/** Whether something may be going on for a task on its node. */
export function isAtWork(task: Task): boolean {
  return task.record.node !== undefined && isAlive(task);
}

/** The order in which the tasks of a slot were made. A successor is always younger than its predecessor. */
export function byAge(a: Task, b: Task): number {
  return a.record.created - b.record.created || (a.id < b.id ? -1 : 1);
}

/** The youngest of a slot's tasks that belong to the service as it is: not the ones of a job's older iteration. */
export function newestOf(tasks: Iterable<Task>, service: ServiceRecord): Task | undefined {
  let newest: Task | undefined;
  for (const task of tasks) {
    if (isOfIteration(task, service) && (newest === undefined || byAge(newest, task) < 0)) {
      newest = task;
    }
  }
  return newest;
}

export function isOfIteration(task: Task, service: ServiceRecord): boolean {
  return task.record.iteration === service.job?.iteration;
}

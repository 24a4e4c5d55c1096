import type { ServiceRecord } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { Circumstances, Decision } from '../decision.ts';
import { desire, newTask } from '../new-task.ts';
import { nodeFits } from '../placement/node-fits.ts';
import { mayRestart } from '../restart/attempts.ts';
import { isAtWork, isOfIteration, isWanted, newestOf } from '../slot-tasks.ts';
import type { Node, Service, Task } from '../state/entries.ts';
import { isGone, losesTasks, observedState, takesTasks } from '../state/observed.ts';
import { decideSlot, orphan } from './slot.ts';

/** Ends by themselves, after which the restart rules decide; every other end was somebody's wish. */
const OWN_ENDS: ReadonlySet<TaskState> = new Set([TaskState.complete, TaskState.failed, TaskState.rejected]);

/**
 * A global service or global job on one node: one task while the node is fit for it, none when the node is gone,
 * drained or no longer meets the constraints. On a paused node, or one not heard of, all stays as it is.
 */
export function decideGlobalOn(
  circumstances: Circumstances,
  service: Service,
  record: ServiceRecord,
  nodeId: string,
): Decision {
  const node = circumstances.state.nodes.get(nodeId);
  const all = service.slots.get(nodeId);
  // Those of a job's older iteration are on their way out.
  const tasks = all.filter((task) => isOfIteration(task, record));
  if (losesTasks(node) || !nodeFits(record, node)) {
    const stops = tasks
      .filter((task) => isWanted(task) && !isDone(task))
      .flatMap((task) => desire(task, TaskState.shutdown, circumstances.now));
    return { writes: [...orphan(circumstances, tasks), ...stops] };
  }
  if (tasks.some(isWanted)) {
    return decideSlot(circumstances, record, tasks);
  }
  return takesTasks(node) ? beginOn(circumstances, record, nodeId, all, node) : { writes: [] };
}

function beginOn(
  circumstances: Circumstances,
  record: ServiceRecord,
  nodeId: string,
  tasks: readonly Task[],
  node: Node | undefined,
): Decision {
  const newest = newestOf(tasks, record);
  if (newest !== undefined && OWN_ENDS.has(observedState(newest)) && !mayRestart(record, newest, tasks)) {
    return { writes: [] };
  }
  const stopping = isGone(node) ? undefined : tasks.find(isAtWork);
  if (stopping === undefined) {
    return { writes: [newTask(circumstances, record, nodeId, { follows: newest })] };
  }
  const gate = { notBefore: circumstances.now, after: stopping.id };
  return {
    writes: [
      newTask(circumstances, record, nodeId, { desired: TaskState.ready, gate, follows: newest ?? stopping }),
    ],
  };
}

function isDone(task: Task): boolean {
  return observedState(task) === TaskState.complete && task.record.desired === TaskState.complete;
}

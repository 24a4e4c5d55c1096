import { put, type Write } from '../objects/parts.ts';
import { TaskState } from '../objects/task-state.ts';
import type { Circumstances } from './decision.ts';
import { nodeFits } from './placement/node-fits.ts';
import { byAge, isAtWork, isWanted } from './slot-tasks.ts';
import type { ClusterState } from './state/cluster-state.ts';
import type { Node, Task } from './state/entries.ts';

/**
 * Rejects the tasks of a node that it may not, or cannot, run any more since it changed: their service's constraints of
 * now do not hold, or the node has less than is reserved on it. The restart rules then replace them. Only on active
 * nodes: on others nothing is begun, and what is there was let stay by the node's operator.
 */
export function enforceOn({ state, now }: Circumstances, node: Node): Write[] {
  if (node.record?.spec.Availability !== 'active') {
    return [];
  }
  const left = { ...node.description?.Resources };
  return [...node.tasks]
    .filter((task) => isWanted(task) && isAtWork(task))
    .toSorted(byAge)
    .filter((task) => !mayStay(state, node, task, left))
    .map((task) =>
      put('status', {
        ...task.status,
        id: task.id,
        state: TaskState.rejected,
        at: now,
        message: 'task rejected by constraint enforcer',
        error: 'assigned node no longer meets constraints',
      }),
    );
}

/** Takes what the task reserves from what is left. A node that does not tell its resources has enough. */
function mayStay(
  state: ClusterState,
  node: Node,
  task: Task,
  left: { NanoCPUs?: number; MemoryBytes?: number },
): boolean {
  const service = state.services.get(task.record.service)?.record;
  if (service !== undefined && !nodeFits(service, node)) {
    return false;
  }
  const reserved = state.templateOf(task.record)?.task.Resources?.Reservations ?? {};
  const amounts = ['NanoCPUs', 'MemoryBytes'] as const;
  if (amounts.some((amount) => (reserved[amount] ?? 0) > (left[amount] ?? Number.POSITIVE_INFINITY))) {
    return false;
  }
  for (const amount of amounts) {
    const before = left[amount];
    if (before !== undefined) {
      left[amount] = before - (reserved[amount] ?? 0);
    }
  }
  return true;
}

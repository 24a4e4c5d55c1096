import { put, type Write } from '../objects/parts.ts';
import { TaskState } from '../objects/task-state.ts';
import type { Circumstances } from './decision.ts';
import { GenericSupply } from './placement/generic-supply.ts';
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
  const resources = node.description?.Resources;
  const left: Left = {
    NanoCPUs: resources?.NanoCPUs ?? Number.POSITIVE_INFINITY,
    MemoryBytes: resources?.MemoryBytes ?? Number.POSITIVE_INFINITY,
    generic: resources && new GenericSupply(resources.GenericResources ?? []),
  };
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

/** A node that does not tell its resources has enough. */
interface Left {
  NanoCPUs: number;
  MemoryBytes: number;
  generic: GenericSupply | undefined;
}

/** Takes what the task reserves from what is left. */
function mayStay(state: ClusterState, node: Node, task: Task, left: Left): boolean {
  const service = state.services.get(task.record.service)?.record;
  if (service !== undefined && !nodeFits(service, node)) {
    return false;
  }
  const { NanoCPUs = 0, MemoryBytes = 0 } = state.templateOf(task.record)?.task.Resources?.Reservations ?? {};
  const generic = task.record.generic ?? [];
  if (NanoCPUs > left.NanoCPUs || MemoryBytes > left.MemoryBytes || left.generic?.holds(generic) === false) {
    return false;
  }
  left.NanoCPUs -= NanoCPUs;
  left.MemoryBytes -= MemoryBytes;
  left.generic?.take(generic);
  return true;
}

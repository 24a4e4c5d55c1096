import type { Filters } from '../../../api/types/requests.ts';
import type { TaskInspect } from '../../../api/types/swarm/task.ts';
import { invalidArgument } from '../../../daemon/base/errors.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { TaskState, type TaskStateName } from '../../objects/task-state.ts';
import type { Task } from '../../planner/state/entries.ts';
import { isDirty } from '../../planner/updater/dirty.ts';
import { checkFilters, fits, fitsLabels, fitsPrefix } from '../base/filters.ts';
import type { ControlContext } from '../context.ts';
import { findNode } from '../nodes/find.ts';
import { findService } from '../services/find.ts';
import { taskName } from './name.ts';
import { taskView } from './view.ts';

const KEYS = ['id', 'name', 'label', 'service', 'node', 'desired-state', 'runtime', '_up-to-date'];

/**
 * Throws invalid_argument for a filter that tasks do not have, not_found for a service or node that is not there. What
 * it costs is in proportion to the service's or node's tasks where one is named.
 */
export function listTasks(
  context: Pick<ControlContext, 'cluster' | 'statusOf'>,
  filters: Filters,
): TaskInspect[] {
  checkFilters(filters, KEYS);
  const { cluster } = context;
  const services = filters.get('service')?.map((ref) => findService(cluster, ref).id);
  const nodes = filters.get('node')?.map((ref) => findNode(cluster, ref).id);
  const states = filters.get('desired-state')?.map(desiredState);
  return [...candidates(cluster, services, nodes)]
    .filter(
      (task) =>
        (nodes?.includes(task.record.node ?? task.record.pinned ?? '') ?? true) &&
        (states?.includes(task.record.desired) ?? true) &&
        matches(cluster, task, filters),
    )
    .map((task) => taskView(context, task));
}

function candidates(
  { state }: Cluster,
  services: readonly string[] | undefined,
  nodes: readonly string[] | undefined,
): Iterable<Task> {
  if (services !== undefined) {
    return [...new Set(services)].flatMap((id) => [...state.tasksOf(id)]);
  }
  // A global service's task is for its node before it is assigned to it, and then found nowhere else.
  return nodes === undefined
    ? state.tasks.values()
    : new Set([...nodes.flatMap((id) => [...state.tasksOn(id)]), ...state.unassigned]);
}

function matches(cluster: Cluster, task: Task, filters: Filters): boolean {
  const service = cluster.state.services.get(task.record.service);
  return (
    fitsPrefix(filters, 'id', task.id) &&
    (!filters.has('name') || fitsPrefix(filters, 'name', taskName(cluster, task))) &&
    fitsLabels(filters, 'label', service?.record?.spec.Labels) &&
    fits(filters, 'runtime', (runtime) => runtime === 'container') &&
    (!filters.has('_up-to-date') || isUpToDate(cluster, task))
  );
}

/** Whether the task runs what its service says, or may go on as it is. */
function isUpToDate({ state }: Cluster, task: Task): boolean {
  const service = state.services.get(task.record.service);
  return service?.record !== undefined && !isDirty(state, service, service.record, task);
}

function desiredState(name: string): TaskState {
  const lower = name.toLowerCase();
  if (!Object.hasOwn(TaskState, lower)) {
    throw invalidArgument(`Invalid desired-state filter: '${name}'`);
  }
  // One of its own keys, as has just been seen.
  return TaskState[lower as TaskStateName];
}

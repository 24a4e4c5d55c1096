import { remove, type Write } from '../objects/parts.ts';
import { templateId, type ServiceRecord } from '../objects/service.ts';
import { TaskState } from '../objects/task-state.ts';
import { policyOf } from './restart/attempts.ts';
import { byAge, hasEnded, isWanted, newestOf } from './slot-tasks.ts';
import type { ClusterState } from './state/cluster-state.ts';
import type { Service, Task } from './state/entries.ts';

const HISTORY_DEFAULT = 5;

/**
 * Tasks of one slot that are no longer of use: those to be removed, once nothing runs any more, and the oldest of the
 * ended ones past the history that the swarm keeps. Restart rules count attempts from what is kept, so these keep more.
 */
export function reapSlot(state: ClusterState, service: Service, tasks: readonly Task[]): Write[] {
  const gone = tasks.filter((task) => isRemovable(state, task));
  const kept = tasks.filter((task) => task.record.desired !== TaskState.remove).toSorted(byAge);
  const { record } = service;
  if (record !== undefined) {
    gone.push(...pastHistory(state, kept, record));
  }
  return gone.flatMap(forget);
}

/** Statuses whose tasks are gone: a leader was stopped between the two deletions. */
export function reapStatuses(state: ClusterState): Write[] {
  return [...state.looseStatuses.keys()].map((id) => remove('status', id));
}

/** Templates that no task, and neither the service nor its previous specification names any more. */
export function reapTemplates({ id, record, previous, templates, templateUses }: Service): Write[] {
  return [...templates.keys()]
    .filter(
      (revision) =>
        !templateUses.has(revision) &&
        record !== undefined &&
        revision !== record.template &&
        revision !== previous?.template,
    )
    .map((revision) => remove('template', templateId(id, revision)));
}

/** A node that is down may run it still: what the task holds there is not free before it is known to have ended. */
function isRemovable(state: ClusterState, task: Task): boolean {
  const { desired, node } = task.record;
  return (
    desired === TaskState.remove &&
    (node === undefined || hasEnded(task) || state.nodes.get(node)?.record === undefined)
  );
}

/** The limit counts all tasks of the slot. */
function pastHistory(state: ClusterState, tasks: readonly Task[], service: ServiceRecord): Task[] {
  const limit = state.cluster?.spec.Orchestration?.TaskHistoryRetentionLimit ?? HISTORY_DEFAULT;
  const surplus = limit < 0 ? 0 : Math.max(0, tasks.length - limit);
  const needed = stillNeeded(tasks, service);
  return tasks.filter((task) => !needed.has(task) && !isWanted(task) && hasEnded(task)).slice(0, surplus);
}

/**
 * The youngest stays: that it ended may be all that is known of the slot. So do those from which the attempts under the
 * present template are counted, even where older tasks that have not stopped yet make the history long.
 */
function stillNeeded(tasks: readonly Task[], service: ServiceRecord): Set<Task | undefined> {
  const { maxAttempts } = policyOf(service);
  const attempts = tasks.filter(({ record }) => record.template === service.template);
  return new Set([newestOf(tasks, service), ...(maxAttempts > 0 ? attempts.slice(-(maxAttempts + 1)) : [])]);
}

function forget(task: Task): Write[] {
  return [remove('task', task.id), ...(task.status ? [remove('status', task.id)] : [])];
}

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
export function reapSlot(state: ClusterState, service: Service, tasks: ReadonlySet<Task>): Write[] {
  const gone = [...tasks].filter((task) => isRemovable(state, task));
  const kept = [...tasks].filter((task) => task.record.desired !== TaskState.remove).toSorted(byAge);
  const { record } = service;
  if (record !== undefined) {
    gone.push(...pastHistory(kept, record, historyOf(state, record)));
  }
  return gone.flatMap(forget);
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

function historyOf(state: ClusterState, service: ServiceRecord): number {
  const limit = state.cluster?.spec.Orchestration?.TaskHistoryRetentionLimit ?? HISTORY_DEFAULT;
  const { maxAttempts } = policyOf(service);
  return limit < 0 ? Number.POSITIVE_INFINITY : Math.max(limit, maxAttempts > 0 ? maxAttempts + 1 : 0);
}

/** The limit counts all tasks of the slot. The youngest stays: that it ended may be all that is known of the slot. */
function pastHistory(tasks: readonly Task[], service: ServiceRecord, limit: number): Task[] {
  const newest = newestOf(tasks, service);
  return tasks
    .filter((task) => task !== newest && !isWanted(task) && hasEnded(task))
    .slice(0, Math.max(0, tasks.length - limit));
}

function forget(task: Task): Write[] {
  return [remove('task', task.id), ...(task.status ? [remove('status', task.id)] : [])];
}

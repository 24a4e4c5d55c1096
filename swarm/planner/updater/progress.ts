import type { ServiceRecord, UpdateRecord } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import { modeOf } from '../service-mode.ts';
import { hasEnded, newestOf } from '../slot-tasks.ts';
import { holdersOf } from '../orchestrators/replicated.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import type { Node, Service, SlotKey, Task } from '../state/entries.ts';
import { isAlive, losesTasks } from '../state/observed.ts';
import type { UpdatePlan } from './config.ts';
import { isDirty } from './dirty.ts';

/** How far an update is, read off the tasks. */
interface Progress {
  /** Slots without a task of the wanted kind, in their order. */
  dirty: SlotKey[];
  /** Slots whose new task does not run yet, or ran less than the delay ago. */
  busy: number;
  /** The earliest moment at which a busy slot becomes free by itself. */
  freeAt: number | undefined;
  /** When the last new task ran or ended. */
  lastDoneAt: number;
  /** Tasks that ended too early and were not counted before. */
  newlyFailed: Task[];
}

/** Slots that the update is for: not those on nodes that cannot have a task now. */
export function dirtySlots(state: ClusterState, service: Service, record: ServiceRecord): SlotKey[] {
  const dirty: SlotKey[] = [];
  const { kind } = modeOf(record.spec);
  for (const [slot, tasks] of service.slots) {
    const holders = holdersOf(tasks, record);
    const isLeft = kind === 'global' && isLeftAlone(state.nodes.get(String(slot)));
    // The youngest counts too: where one of the wanted kind failed for good, the restart rules have decided.
    const tasksThatCount = [...holders, newestOf(tasks, record)].filter((task) => task !== undefined);
    const isAllOld = tasksThatCount.every((task) => isDirty(state, service, record, task));
    if (holders.length > 0 && !isLeft && isAllOld) {
      dirty.push(slot);
    }
  }
  return dirty.toSorted((a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : a < b ? -1 : 1));
}

/** Whether a global service does nothing on a node now: there is no task to be, or all is to stay as it is. */
function isLeftAlone(node: Node | undefined): boolean {
  return losesTasks(node) || node?.record?.spec.Availability === 'pause';
}

export function progressOf(
  { state, now }: { state: ClusterState; now: number },
  service: Service,
  record: ServiceRecord,
  { update, plan }: { update: UpdateRecord; plan: UpdatePlan },
): Progress {
  const progress: Progress = {
    dirty: dirtySlots(state, service, record),
    busy: 0,
    freeAt: undefined,
    lastDoneAt: update.started,
    newlyFailed: [],
  };
  for (const task of service.tasks) {
    if (isOfUpdate(task, record, update)) {
      look(progress, task, { now, update, plan });
    }
  }
  return progress;
}

function isOfUpdate({ record: task }: Task, service: ServiceRecord, update: UpdateRecord): boolean {
  return task.byUpdate === true && task.template === service.template && task.created >= update.started;
}

function look(
  progress: Progress,
  task: Task,
  { now, update, plan }: { now: number; update: UpdateRecord; plan: UpdatePlan },
): void {
  const doneAt = doneAtOf(task);
  if (doneAt === undefined) {
    progress.busy += 1;
    return;
  }
  progress.lastDoneAt = Math.max(progress.lastDoneAt, doneAt);
  const freeAt = doneAt + plan.delayMs;
  if (freeAt > now) {
    progress.busy += 1;
    progress.freeAt = Math.min(progress.freeAt ?? freeAt, freeAt);
  }
  if (endedEarly(task, plan) && !update.failed.includes(task.id)) {
    progress.newlyFailed.push(task);
  }
}

/** When a new task was running, or was known not to come to that; undefined while that is open. */
function doneAtOf(task: Task): number | undefined {
  if (task.status?.running !== undefined) {
    return task.status.running;
  }
  if (hasEnded(task)) {
    return task.status?.at ?? task.record.updated;
  }
  // Scaled away, or overtaken, before it ran.
  return task.record.desired > TaskState.running ? task.record.updated : undefined;
}

/** Whether a task ended by itself before it had run for the time of watching. */
function endedEarly(task: Task, { monitorMs }: UpdatePlan): boolean {
  const { status } = task;
  if (status === undefined || isAlive(task)) {
    return false;
  }
  const isOwnEnd =
    status.state === TaskState.failed ||
    status.state === TaskState.rejected ||
    status.state === TaskState.complete;
  return isOwnEnd && (status.running === undefined || status.at - status.running <= monitorMs);
}

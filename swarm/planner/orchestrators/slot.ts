import { put, type Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import { earliest, type Circumstances, type Decision } from '../decision.ts';
import { desire } from '../new-task.ts';
import { letThrough } from '../restart/gate.ts';
import { replaceTask } from '../restart/replace.ts';
import { goalOf, modeOf } from '../service-mode.ts';
import { byAge, hasEnded, isAtWork, isWanted } from '../slot-tasks.ts';
import type { Task } from '../state/entries.ts';
import { losesTasks, observedState } from '../state/observed.ts';

/**
 * What is to be done in one slot of a service, whatever its kind: the youngest wanted task is replaced when it has
 * ended or lost its node, let through when its time has come. Those older than the youngest one that runs are shut
 * down: a younger one may wait for a node or an address for ever.
 */
export function decideSlot(
  circumstances: Circumstances,
  service: ServiceRecord,
  tasks: readonly Task[],
): Decision {
  const { now } = circumstances;
  const writes: Write[] = orphan(circumstances, tasks);
  const wanted = tasks.filter(isWanted).toSorted(byAge);
  const newest = wanted.at(-1);
  if (newest === undefined) {
    return { writes };
  }
  let again: number | undefined;
  const running = wanted.findLastIndex(
    (task) => observedState(task) === TaskState.running && task.record.desired === TaskState.running,
  );
  for (const [index, older] of wanted.slice(0, -1).entries()) {
    if (index < running || isLost(circumstances, older)) {
      writes.push(...desire(older, TaskState.shutdown, now));
    }
  }
  const isDone = hasEnded(newest) && observedState(newest) === newest.record.desired;
  if (!isDone && isLost(circumstances, newest)) {
    const decision = replaceTask(circumstances, service, newest, tasks);
    return { writes: [...writes, ...decision.writes], again: decision.again };
  }
  if (!isDone) {
    const decision = letThrough(circumstances, newest, goalOf(modeOf(service.spec)));
    writes.push(...decision.writes);
    again = earliest(again, decision.again);
  }
  return { writes, again };
}

/** Whether nothing more comes of a wanted task where it is. */
function isLost({ state }: Circumstances, task: Task): boolean {
  const { node } = task.record;
  return hasEnded(task) || (node !== undefined && losesTasks(state.nodes.get(node)));
}

/** Nobody will ever report what became of tasks on a node that has been removed. */
export function orphan({ state, now }: Circumstances, tasks: readonly Task[]): Write[] {
  const message = 'Task belonged to a node that has been deleted';
  return tasks
    .filter((task) => isAtWork(task) && state.nodes.get(task.record.node ?? '')?.record === undefined)
    .map((task) =>
      put('status', { ...task.status, id: task.id, state: TaskState.orphaned, at: now, message }),
    );
}

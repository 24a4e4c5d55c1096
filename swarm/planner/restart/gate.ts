import { TaskState } from '../../objects/task-state.ts';
import type { Circumstances, Decision } from '../decision.ts';
import { desire } from '../new-task.ts';
import { isAtWork } from '../slot-tasks.ts';
import type { Task } from '../state/entries.ts';
import { isGone } from '../state/observed.ts';

/** How long a task waits for the one before it to stop: a node that hangs must not hold a service up for ever. */
const STOP_WAIT_MS = 60_000;

/** Lets a task that was made ready through to `goal`, once its delay is over and the task before it has stopped. */
export function letThrough({ state, now }: Circumstances, task: Task, goal: TaskState): Decision {
  const { desired, gate, created } = task.record;
  if (desired !== TaskState.ready) {
    return { writes: [] };
  }
  const before = gate?.after === undefined ? undefined : state.tasks.get(gate.after);
  const waits =
    before !== undefined && isAtWork(before) && !isGone(state.nodes.get(before.record.node ?? ''));
  const open = Math.max(gate?.notBefore ?? 0, waits ? created + STOP_WAIT_MS : 0);
  if (now >= open) {
    return { writes: desire(task, goal, now) };
  }
  // When the task before it ends sooner, that is a change, after which this is asked again anyway.
  return { writes: [], again: open };
}

import type { Write } from '../../objects/parts.ts';
import type { ServiceRecord } from '../../objects/service.ts';
import { TaskState } from '../../objects/task-state.ts';
import type { Circumstances, Decision } from '../decision.ts';
import { desire, newTask } from '../new-task.ts';
import { hasEnded, isAtWork } from '../slot-tasks.ts';
import { slotOf, type Task } from '../state/entries.ts';
import { isGone } from '../state/observed.ts';
import { mayRestart, policyOf } from './attempts.ts';

/**
 * What follows when a wanted task has ended or lost its node: it is to be shut down, and where the policy allows it
 * another is made in its slot. That one is prepared at once and runs after the delay, when the old one has stopped. The
 * delay is for tasks that fail: one whose node was lost, or is drained, has done nothing that could happen again.
 */
export function replaceTask(
  circumstances: Circumstances,
  service: ServiceRecord,
  task: Task,
  slot: Iterable<Task>,
): Decision {
  const { state, now } = circumstances;
  const { gate, desired } = task.record;
  if (desired === TaskState.ready && gate !== undefined && now < gate.notBefore && hasEnded(task)) {
    // It failed while it was being prepared. Its own delay paces its successor.
    return { writes: [], again: gate.notBefore };
  }
  const node = state.nodes.get(task.record.node ?? '');
  const stop = desire(task, TaskState.shutdown, now);
  if (!mayRestart(service, task, slot, now)) {
    return { writes: stop };
  }
  const isDrained = node?.record?.spec.Availability === 'drain';
  const isLost = isAtWork(task) && isGone(node);
  const waits = isAtWork(task) && !isLost;
  const notBefore = now + (isDrained || isLost ? 0 : policyOf(service).delayMs);
  const successor: Write = newTask(circumstances, service, slotOf(task.record), {
    desired: TaskState.ready,
    gate: { notBefore, ...(waits ? { after: task.id } : {}) },
    follows: task,
  });
  return { writes: [...stop, successor], again: notBefore };
}
